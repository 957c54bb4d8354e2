// The large stores of the figures: Lichen writes a session, SQLite copies it, Lichen reads the result back.

import { openLichen } from "./open-lichen.ts";
import { lengthenSession, multiplySession } from "./seed.ts";
import { settleStore } from "./stores.ts";

/** What one prompt and its answer leave in the log. */
const entriesPerPrompt = 5;

/** A store with a session `template` of about `entries` entries and that many others like it. */
export async function makeCrowdedStore(
  path: string,
  { sessions, entries }: { sessions: number; entries: number },
): Promise<void> {
  await writeSession(path, "template", Math.ceil(entries / entriesPerPrompt));
  settleStore(path);
  multiplySession(path, "template", sessions);
  await expectHead(path, `other-${sessions}`, entries);
}

/** A store that has, besides others, one session for each length; every message has the word `harvest`. */
export async function makeLongSessions(
  path: string,
  lengths: Readonly<Record<string, number>>,
): Promise<void> {
  for (const session of Object.keys(lengths)) await writeSession(path, session, 200);
  settleStore(path);
  for (const [session, entries] of Object.entries(lengths)) lengthenSession(path, session, entries);
  for (const [session, entries] of Object.entries(lengths))
    await expectHead(path, session, entries);
}

async function writeSession(path: string, id: string, prompts: number): Promise<void> {
  const { agent, close } = await openLichen(path);
  const session = agent.session(id);
  for (let number = 0; number < prompts; number++) {
    const text = `Row ${number} of the field: what did the harvest of ${1900 + (number % 97)} weigh?`;
    const { commandId } = await session.send({ type: "prompt", requestId: `ask-${number}`, text });
    await session.readSettlement(commandId!, { timeoutMs: 30_000 });
  }
  await close();
}

async function expectHead(path: string, session: string, entries: number): Promise<void> {
  const { agent, close } = await openLichen(path);
  const { head, entries: newest } = await agent.session(session).read({ limit: 5 });
  await close();
  if (head < entries || newest.at(-1)?.seq !== head)
    throw new Error(`The seeded session ${session} has ${head} entries, not ${entries}.`);
}
