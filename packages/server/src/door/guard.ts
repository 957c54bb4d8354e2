// The door's first question: was this request meant for this host, and does it come from no other site's page?
//
//   Host must be a name the host listens as or was told of: a foreign name that resolves here is refused, and so is
//   an absolute address of somebody else.
//   Origin, where a browser sends one, must be this host's own; so must the site of a request a page makes.

import { Fault } from "@lichen/wire";
import type { Arrival } from "./arrival.ts";
import type { Names } from "./names.ts";

/** Throws `denied` for a request that must not come in. */
export type Guard = (request: Request, arrival?: Arrival) => void;

export function createGuard(names: Pick<Names, "admits">): Guard {
  return ({ url, headers }, arrival) => {
    const host = headers.get("host")?.toLowerCase();
    // Over a socket of this computer nothing else is meant.
    const isLocal = arrival?.principal !== undefined && host === "localhost";
    if (host === undefined || !(isLocal || names.admits(host)) || !isAddressedTo(url, host))
      throw new Fault(
        "denied",
        "The request's Host is none that this host listens as. What stands in front of it is named with --public-url or " +
          "--allow-host where it is started, or with `publicUrl` or `allowedHosts` in its config.",
      );
    const origin = headers.get("origin");
    if (origin !== null && !isSameOrigin(origin, host))
      throw new Fault("denied", "The request comes from a page of another origin.");
    const site = headers.get("sec-fetch-site");
    if (site !== null && site !== "same-origin" && site !== "none")
      throw new Fault("denied", "The request comes from a page of another site.");
  };
}

/** Whether an absolute URL names this `Host`; the usual ports may be left out of it. */
function isAddressedTo(url: string, host: string): boolean {
  const start = url.indexOf("//") + 2;
  const end = url.indexOf("/", start);
  const authority = url.slice(start, end < 0 ? url.length : end).toLowerCase();
  return authority === host || authority === host.replace(/:(80|443)$/, "");
}

/** Whether an origin is the one a page of `host` has, under either scheme (a proxy in front may end the TLS). */
function isSameOrigin(origin: string, host: string): boolean {
  const scheme = /^https?:\/\//.exec(origin)?.[0];
  if (scheme === undefined) return false;
  try {
    const own = new URL(scheme + host);
    return new URL(origin).origin === own.origin && own.origin === origin;
  } catch {
    // A Host that is no part of a URL has no origin.
    return false;
  }
}
