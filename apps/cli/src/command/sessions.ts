// `lichen sessions`: the conversations of an agent, latest first, and the search through them.

import type { Agent } from "@lichen/client";
import { Fault, type Found, type SessionInfo } from "@lichen/wire";
import type { Input } from "../command.ts";
import { oneLine } from "../printable.ts";
import { reachAgent } from "../reach-agent.ts";
import { ago, aligned, sessionLine } from "../session-line.ts";
import type { Terminal } from "../terminal.ts";
import { commandName, samePlace } from "../typed.ts";

interface Listed {
  readonly info: SessionInfo;
  /** Where the text that was looked for stands, newest first. */
  readonly found?: readonly Found[];
}

const defaultLimit = 50;
const pageLimit = 200;
/** How many sessions are searched, and what is shown of each. */
const searchedSessions = 50;
const foundPerSession = 3;

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const reached = await reachAgent(input, terminal, { atRest: true });
  try {
    const limit = Number(input.value("limit") ?? defaultLimit);
    const text = input.value("search");
    const { agent } = reached;
    const { listed, more } =
      text === undefined ? await latest(agent, limit) : await searched(agent, text, limit);
    if (input.flag("json")) {
      terminal.answer(
        `${JSON.stringify(listed.map(({ info, found }) => ({ ...info, ...(found === undefined ? {} : { found }) })))}\n`,
      );
      return 0;
    }
    show(listed, terminal);
    if (listed.length === 0)
      terminal.say(
        text === undefined
          ? `no conversations yet; \`${commandName()} invoke "…"${samePlace(input)}\` begins one`
          : "nothing found",
      );
    if (more !== undefined) terminal.say(more);
    return 0;
  } finally {
    await reached.close();
  }
}

interface Answer {
  readonly listed: readonly Listed[];
  /** What was left out. */
  readonly more?: string;
}

async function latest(agent: Agent, limit: number): Promise<Answer> {
  const { sessions, isAll } = await newest(agent, limit);
  return {
    listed: sessions.map((info) => ({ info })),
    ...(isAll ? {} : { more: `there are more: --limit ${limit * 2} shows up to that many` }),
  };
}

async function searched(agent: Agent, text: string, limit: number): Promise<Answer> {
  const { sessions, isAll } = await newest(agent, searchedSessions);
  const listed: Listed[] = [];
  for (const info of sessions) {
    if (listed.length === limit) break;
    const found = await foundIn(agent, info.session, text);
    if (found === undefined) continue;
    const about = folded(`${info.title ?? ""}\n${info.preview ?? ""}`);
    if (found.length > 0 || about.includes(folded(text))) listed.push({ info, found });
  }
  const more = `only the ${searchedSessions} latest conversations were searched`;
  return { listed, ...(isAll ? {} : { more }) };
}

/** Undefined where the session was deleted meanwhile. */
async function foundIn(agent: Agent, id: string, q: string): Promise<Found[] | undefined> {
  try {
    return (await agent.session(id).search({ q, limit: foundPerSession })).found;
  } catch (error) {
    if (Fault.is(error) && error.code === "unknown_session") return undefined;
    throw error;
  }
}

async function newest(
  agent: Agent,
  limit: number,
): Promise<{ sessions: SessionInfo[]; isAll: boolean }> {
  const sessions: SessionInfo[] = [];
  for (let before: string | undefined; ;) {
    const page = await agent.sessions({
      limit: Math.min(pageLimit, limit - sessions.length),
      ...(before === undefined ? {} : { before }),
    });
    sessions.push(...page.sessions);
    before = page.next;
    if (before === undefined || sessions.length >= limit)
      return { sessions, isAll: before === undefined };
  }
}

function show(listed: readonly Listed[], terminal: Terminal): void {
  const nowMs = Date.now();
  const lines = aligned(
    listed.map(({ info }) => {
      const { id, state, waits, about, lent } = sessionLine(info);
      return [id, state, waits, lent, ago(info.lastAt, nowMs), about];
    }),
  );
  for (const [at, { found }] of listed.entries()) {
    terminal.answer(`${lines[at]}\n`);
    for (const { seq, role, snippet } of found ?? [])
      terminal.answer(`  ${seq} ${role}: ${oneLine(snippet, 200)}\n`);
  }
}

/** A text for comparing: past case, accents and composition, as a host's own search. */
function folded(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}
