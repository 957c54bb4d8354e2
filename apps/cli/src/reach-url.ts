// A host at an address that a person gives, with its owner's token: nothing but a challenge is sent until the listener
// has proven that it knows that token and that the address is its own, now and after every break.

import { type Client, createClient } from "@lichen/client";
import { challengeHost, type Connection } from "@lichen/server/node";
import { type AgentInfo, Fault } from "@lichen/wire";
import { HostFetch } from "./host-fetch.ts";
import { commandName } from "./typed.ts";

export interface ReachedUrl {
  readonly client: Client;
  /** The host's agents, as they were when it was reached. */
  readonly agents: AgentInfo[];
  close(): Promise<void>;
}

const firstMs = 10_000;
const laterMs = 5_000;

/**
 * Refuses with a sentence: `invalid` what is no address or no token, `unavailable` where nothing answers or no host does,
 * `unauthenticated` where the host does not know the token, `denied` where it does not vouch for the address. Requests
 * fail at once while the host is away.
 */
export async function reachUrl(url: string, token: string): Promise<ReachedUrl> {
  const base = baseOf(url);
  if (!/^[\x21-\x7e]{1,512}$/.test(token))
    throw new Fault("invalid", "The token is none: it is one word of letters, digits and signs.");
  const address = await vouchedAddress(base, token);
  const reach = async (): Promise<Connection> => {
    const heard = await challengeHost(address, { timeoutMs: laterMs });
    if (heard.answer === "none") return { found: "none" };
    if (heard.answer !== "host" || (await heard.proof(token)) !== "vouched")
      return { found: "stranger", url: address };
    return { found: "host", url: address, token, status: heard.status };
  };
  const host = new HostFetch({
    reach,
    patienceMs: 0,
    onBreak: () => undefined,
    onReturn: () => client.wake(),
  });
  const client = createClient({ url: host.url, fetch: host.fetch });
  try {
    return { client, agents: await client.agents(), close: async () => host.close() };
  } catch (error) {
    host.close();
    throw error;
  }
}

/** The one of a name's addresses whose listener has proven to be the host there. */
async function vouchedAddress(base: string, token: string): Promise<string> {
  const refusals: Refusal[] = [];
  for (const address of addressesOf(base)) {
    const refusal = await refusalOf(address, token);
    if (refusal === undefined) return address;
    refusals.push(refusal);
  }
  // Who came nearest to a proof is told of.
  const nearest = refusals.reduce((a, b) => (nearness.indexOf(b) > nearness.indexOf(a) ? b : a));
  throw refused(nearest, base);
}

/** `localhost` is two addresses: the host may listen at one of them, and somebody else at the other. */
function addressesOf(base: string): string[] {
  const { hostname } = new URL(base);
  if (hostname !== "localhost") return [base];
  return ["127.0.0.1", "[::1]"].map((address) => base.replace("//localhost", `//${address}`));
}

type Refusal = "nothing" | "foreign" | "unknown" | "unvouched";
const nearness: readonly Refusal[] = ["nothing", "foreign", "unknown", "unvouched"];

/** Undefined where the listener is the host, at its own address. */
async function refusalOf(address: string, token: string): Promise<Refusal | undefined> {
  const heard = await challengeHost(address, { timeoutMs: firstMs });
  switch (heard.answer) {
    case "none":
      return "nothing";
    case "endless":
    case "foreign":
      return "foreign";
    case "denied":
      return "unvouched";
    case "host": {
      const proof = await heard.proof(token);
      return proof === "vouched" ? undefined : proof === "known" ? "unvouched" : "unknown";
    }
  }
}

function refused(refusal: Refusal, base: string): Fault {
  switch (refusal) {
    case "nothing":
      return new Fault(
        "unavailable",
        `Nothing answers at ${base}: check the address, and that \`lichen start\` runs there and listens on it.`,
      );
    case "foreign":
      return new Fault(
        "unavailable",
        `What answers at ${base} is no Lichen host; nothing was told to it. Check the address.`,
        { retryable: false },
      );
    case "unknown":
      return new Fault(
        "unauthenticated",
        `The host at ${base} does not prove that it knows this token, so the token was not sent. Use its owner's token: ` +
          "the file `token` in the host's state directory, which `lichen info` names there. For a machine of `lichen up` this computer " +
          `can be a device with a key of its own: \`${commandName()} pair\` there, \`${commandName()} pair <address>\` here, then --on.`,
      );
    case "unvouched": {
      const { host } = new URL(base);
      return new Fault(
        "denied",
        `What answers at ${base} does not prove that this address is the host's own, so the token was not sent: somebody ` +
          "in between could take it. Use the address that `lichen info` names there. If a tunnel or proxy of yours leads " +
          "from here to the host, let it listen on the host's own port, as with `ssh -L 7387:127.0.0.1:7387`, or add " +
          `"${host}" to \`allowedHosts\` in the host's lichen.config.ts, or start it with \`--allow-host ${host}\`; a proxy has to pass on \`Host\`. ` +
          "A host of an older version cannot prove it: bring it up to date.",
      );
    }
  }
}

/** The address without what belongs to a browser alone. */
function baseOf(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    throw new Fault(
      "invalid",
      `"${url}" is no address of a host: one is like http://127.0.0.1:7387 or https://home.example.`,
    );
  if (parsed.username !== "" || parsed.password !== "")
    throw new Fault("invalid", "Leave the name and the password out of the address.");
  return `${parsed.origin}${parsed.pathname}`.replace(/\/+$/, "");
}
