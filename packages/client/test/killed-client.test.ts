// A client that is killed at each of its own writes, against a real host: what its outbox answered for arrives once.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Entry } from "@lichen/wire";
import { expect, test } from "vitest";
import { fileStorage } from "../src/host/node.ts";
import { openOutbox, type OutboxItem } from "../src/index.ts";
import { openTestHost, type TestHost } from "./host.ts";
import { hurry } from "./hurry.ts";

const program = new URL("programs/outbox-client.ts", import.meta.url).pathname;

interface Life {
  readonly signal: string | null;
  readonly added: string[];
  readonly steps: number | undefined;
}

async function live(
  host: TestHost,
  folder: string,
  session: string,
  killAt: number,
): Promise<Life> {
  const child = spawn(
    process.execPath,
    [program, folder, host.url, host.token, session, String(killAt)],
    { env: {}, stdio: ["ignore", "pipe", "pipe"] },
  );
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  if (code !== 0 && signal !== "SIGKILL") throw new Error(`the client failed: ${err}`);
  const steps = /^steps (\d+)$/m.exec(out)?.[1];
  return {
    signal,
    added: [...out.matchAll(/^added (.*)$/gm)].map((match) => match[1]!),
    steps: steps === undefined ? undefined : Number(steps),
  };
}

/** A further opening of the outbox, until it has nothing more to send. */
async function finish(host: TestHost, folder: string): Promise<readonly OutboxItem[]> {
  const outbox = await openOutbox({
    client: host.client(),
    storage: fileStorage(folder),
    platform: hurry,
  });
  const isDone = (): boolean => outbox.items.every((item) => item.state === "restored");
  const done = Promise.withResolvers<void>();
  outbox.subscribe(() => isDone() && done.resolve());
  if (!isDone()) await done.promise;
  const left = outbox.items;
  expect(outbox.damaged).toEqual([]);
  await outbox.close();
  return left;
}

/** The messages that the host admitted, in their order. */
function admitted(entries: readonly Entry[]): string[] {
  return entries
    .filter((entry) => entry.kind === "command.queued" || entry.kind === "line")
    .map((entry) => entry.requestId ?? "");
}

test("[N16] a client that is killed at any of its own writes loses no message that was answered for, and doubles none", async () => {
  await using host = await openTestHost({ script: [{ say: "ok" }] });
  const check = async (killAt: number): Promise<Life> => {
    const session = `s${killAt}`;
    const folder = join(host.folder, `outbox-${killAt}`);
    const life = await live(host, folder, session, killAt);
    const left = await finish(host, folder);
    const where = `killed at step ${killAt}, after ${life.added.join(", ")}`;
    const messages = admitted(await readOrNothing(host, session));
    expect(new Set(messages).size, where).toBe(messages.length);
    expect(
      messages.toSorted((a, b) => (a < b ? -1 : 1)),
      where,
    ).toEqual(messages);
    const drafts = left.map((item) => item.requestId);
    // The third was called back: it is a draft again, or it was admitted, and never both or neither.
    for (const id of life.added) expect([...messages, ...drafts], where).toContain(id);
    for (const id of drafts) expect(id, where).toBe("m3");
    expect(
      messages.filter((id) => drafts.includes(id)),
      where,
    ).toEqual([]);
    return life;
  };
  const { steps } = await check(0);
  expect(steps).toBeGreaterThan(40);
  let next = 1;
  let killed = 0;
  const lane = async (): Promise<void> => {
    while (next <= steps!) if ((await check(next++)).signal === "SIGKILL") killed++;
  };
  await Promise.all([lane(), lane()]);
  // A life may take a step or two fewer than the first; none was skipped.
  expect(killed).toBeGreaterThan(steps! - 6);
}, 120_000);

async function readOrNothing(host: TestHost, session: string): Promise<Entry[]> {
  const { sessions } = await host.client().agent("a").sessions({ limit: 200 });
  if (!sessions.some((it) => it.session === session)) return [];
  return (await host.client().agent("a").session(session).read()).entries;
}
