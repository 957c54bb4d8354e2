// Where a host listens and under which names, as a command line or a config says it; and how that is told.
//
//   UP27, K122  Who reaches it is said: a host that others reach never looks like one of this computer alone.

import { type Listening, urlsBeyond } from "@lichen/server/node";
import type { Input } from "./command.ts";
import type { Log } from "./log.ts";

export interface ListeningOptions {
  readonly port?: number;
  readonly bind?: string;
  readonly publicUrl?: string;
  readonly allowedHosts?: readonly string[];
}

/** What the command line says holds before what the config does. */
export function listeningOptions(
  input: Input,
  config: {
    readonly http?:
      | { readonly port?: number | undefined; readonly host?: string | undefined }
      | undefined;
    readonly publicUrl?: string | undefined;
    readonly allowedHosts?: readonly string[] | undefined;
  } = {},
): ListeningOptions {
  const port = input.value("port") ?? config.http?.port;
  const bind = input.value("bind") ?? config.http?.host;
  const publicUrl = input.value("public-url") ?? config.publicUrl;
  const named = input.values("allow-host");
  const allowedHosts = named.length > 0 ? named : config.allowedHosts;
  return {
    ...(port === undefined ? {} : { port: Number(port) }),
    ...(bind === undefined ? {} : { bind: bind === "localhost" ? "127.0.0.1" : bind }),
    ...(publicUrl === undefined ? {} : { publicUrl }),
    ...(allowedHosts === undefined ? {} : { allowedHosts }),
  };
}

export interface Reach {
  /** Who listens, such as `this machine`. */
  readonly who: string;
  readonly listening: Pick<Listening, "url" | "boundTo" | "taken">;
  readonly options: ListeningOptions;
  /** The addresses in meshes at which it listens too. */
  readonly inMeshes?: readonly string[];
  /** Who is let in there. */
  readonly admitted: string;
}

/** Says where it listens, who reaches it there and what that means. */
export function tellReach(
  { who, listening, options, inMeshes = [], admitted }: Reach,
  log: Log,
): void {
  const { taken, url, boundTo } = listening;
  const { bind, publicUrl } = options;
  if (taken !== undefined)
    log(
      "warn",
      `port ${taken.port} is taken by ${taken.holder ?? "another program"}; a free one is used`,
    );
  const beyond = urlsBeyond(boundTo);
  const isAny = bind === "0.0.0.0" || bind === "::";
  if (isAny)
    log(
      "info",
      `${who} listens on port ${new URL(url).port} of every address of this computer: ${[url, ...beyond].join(", ")}`,
    );
  else
    log(
      "info",
      `${who} listens on ${url}${beyond.length === 0 ? ", which this computer alone reaches" : ""}`,
    );
  if (inMeshes.length > 0) log("info", `${who} listens in its meshes on ${inMeshes.join(", ")}`);
  if (publicUrl !== undefined) log("info", `others reach it through ${publicUrl}`);
  if (isAny || beyond.length > 0)
    log(
      "warn",
      `whoever is in a network with this computer reaches it there. ${admitted} What goes over plain HTTP can be read on ` +
        "the way: in a network that is not yours alone, use a private one (WireGuard) or a proxy with TLS.",
    );
}
