// A host at an address that a person gives, with its owner's token: nothing but a challenge is sent until the listener
// has proven that it knows that token, now and after every break.

import { type Client, createClient } from "@lichen/client";
import { challengeHost, type Connection } from "@lichen/server/node";
import { type AgentInfo, Fault } from "@lichen/wire";
import { HostFetch } from "./host-fetch.ts";

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
 * `unauthenticated` where the host does not know the token. Requests fail at once while the host is away.
 */
export async function reachUrl(url: string, token: string): Promise<ReachedUrl> {
  const base = addressOf(url);
  if (!/^[\x21-\x7e]{1,512}$/.test(token))
    throw new Fault("invalid", "The token is none: it is one word of letters, digits and signs.");
  const reach = async (timeoutMs: number): Promise<Connection> => {
    const heard = await challengeHost(base, { timeoutMs });
    if (heard.answer === "none") return { found: "none" };
    if (heard.answer !== "host" || !(await heard.knows(token)))
      return { found: "stranger", url: base };
    return { found: "host", url: base, token, status: heard.status };
  };
  await refuseStranger(base, token);
  const host = new HostFetch({
    reach: () => reach(laterMs),
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

async function refuseStranger(base: string, token: string): Promise<void> {
  const heard = await challengeHost(base, { timeoutMs: firstMs });
  switch (heard.answer) {
    case "none":
      throw new Fault(
        "unavailable",
        `Nothing answers at ${base}: check the address, and that \`lichen start\` runs there and listens on it.`,
      );
    case "endless":
    case "foreign":
      throw new Fault(
        "unavailable",
        `What answers at ${base} is no Lichen host; nothing was told to it. Check the address.`,
        { retryable: false },
      );
    case "host":
      if (await heard.knows(token)) return;
      throw new Fault(
        "unauthenticated",
        `The host at ${base} does not prove that it knows this token, so the token was not sent. Use its owner's token: ` +
          "the file `token` in the host's state directory, which `lichen info` names there.",
      );
  }
}

/** The address without what belongs to a browser alone. */
function addressOf(url: string): string {
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
