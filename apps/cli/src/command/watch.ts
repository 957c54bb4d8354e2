// `lichen watch`: a session as it goes on, or all sessions of a host.

import type { Frame, HostFrame, Session } from "@lichen/client";
import { onStopSignal } from "@lichen/server/node";
import { faultBody, type SessionInfo } from "@lichen/wire";
import type { Input } from "../command.ts";
import { holdsAgent, inFolder } from "../folder-word.ts";
import { followSession, pages } from "../follow-session.ts";
import { onSession, sessionIdOf } from "../known-session.ts";
import { isBegun } from "../machine/conversation.ts";
import { findMachine, type ReachedMachine, reachMachine } from "../machine/reach-machine.ts";
import { hasAgent, type Meant, meantBy } from "../machine/session-word.ts";
import { TalkNames } from "../machine/talk-names.ts";
import { oneLine } from "../printable.ts";
import { reachServed, type ReachedAgent } from "../reach-agent.ts";
import { sessionLine } from "../session-line.ts";
import type { Terminal } from "../terminal.ts";
import { commandName, quoted, samePlace } from "../typed.ts";
import { howToAnswer } from "../waiting.ts";
import { WatchView } from "../watch-view.ts";

interface Watching {
  readonly reached: ReachedAgent;
  readonly input: Input;
  readonly terminal: Terminal;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  readonly notices: Notices;
}

export async function run(given: Input, terminal: Terminal): Promise<number> {
  const { id, input } = understood(given);
  const meant = id === undefined ? undefined : await meantBy(id, "watch", input, terminal);
  if (meant) return watchOnMachine(meant, input, terminal);
  const machine = id === undefined ? await wholeMachine(input, terminal) : undefined;
  if (machine) return watchMachine(machine, input, terminal);
  const reached = await reachServed(input, terminal, { patienceMs: 0 });
  return watching(reached, input, terminal, async (all) => {
    if (id === undefined) return watchAll(all);
    const session = reached.agent.session(id);
    await onSession(id, input, () => watchOne(session, id, all));
  });
}

async function watchOnMachine(meant: Meant, input: Input, terminal: Terminal): Promise<number> {
  const { machine, name, session } = meant;
  try {
    if (!(await isBegun(meant))) {
      terminal.say(
        `nothing was said in ${oneLine(name, 256)} yet; \`${commandName()} send ${quoted(name)} "…"${machine.place}\` begins it`,
      );
      return 1;
    }
    // Its breaks are told of, and not waited out in silence.
    const reached = machine.agentOf({ id: meant.reached.agent.agent }, { patienceMs: 0 });
    const own = reached.agent.session(session.id);
    return await watching(reached, input, terminal, (all) => watchOne(own, name, all));
  } finally {
    await machine.close();
  }
}

/** The machine that is meant by no word at all: where nothing else can be, or where it is said. */
async function wholeMachine(input: Input, terminal: Terminal): Promise<ReachedMachine | undefined> {
  if (input.flag("machine") || input.value("on") !== undefined)
    return reachMachine(input, terminal);
  if (input.argument("dir") !== undefined || (await hasAgent(input))) return undefined;
  return findMachine(input, terminal);
}

async function watchMachine(
  machine: ReachedMachine,
  input: Input,
  terminal: Terminal,
): Promise<number> {
  try {
    const reached = machine.agentOf({ id: "none" }, { patienceMs: 0 });
    const names = new TalkNames(machine);
    return await watching(reached, input, terminal, (all) => watchAll(all, names));
  } finally {
    await machine.close();
  }
}

async function watchOne(session: Session, name: string, all: Watching): Promise<void> {
  if (all.input.flag("json")) await printFrames(session, all);
  else await showSession(session, name, all);
  if (!all.signal.aborted) all.terminal.say(`session ${oneLine(name, 256)} was deleted`);
}

/** Until Ctrl-C, or the end of what is watched. */
async function watching(
  reached: ReachedAgent,
  input: Input,
  terminal: Terminal,
  watch: (all: Watching) => Promise<void>,
): Promise<number> {
  const stop = new AbortController();
  const { signal } = stop;
  const ignoreSignals = onStopSignal(() => stop.abort());
  const notices = new Notices(input, terminal);
  try {
    await watch({ reached, input, terminal, signal, notices });
    return 0;
  } finally {
    ignoreSignals();
    await reached.close();
  }
}

/** A single word that can only be a folder, or is an agent's, is the folder. */
function understood(given: Input): { id: string | undefined; input: Input } {
  const word = given.argument("session");
  if (word === undefined) return { id: undefined, input: given };
  const isAlone = given.argument("dir") === undefined;
  if (isAlone && (/^(\.\.?$|\.{0,2}\/)/.test(word) || holdsAgent(word)))
    return { id: undefined, input: inFolder(given, word) };
  return { id: sessionIdOf(word, "watch"), input: given };
}

/** What a person is told of the connection, on stderr. */
class Notices {
  readonly #input: Input;
  readonly #terminal: Terminal;
  #hasBegun = false;

  constructor(input: Input, terminal: Terminal) {
    this.#input = input;
    this.#terminal = terminal;
  }

  begun(): void {
    this.#hasBegun = true;
  }

  connection(type: "outage" | "back"): void {
    if (type === "back")
      this.#terminal.say(this.#hasBegun ? "the host is back" : "a host is there");
    else if (this.#hasBegun) this.#terminal.say("the host went away; waiting for it to come back");
    else {
      const line = `${commandName()} start${samePlace(this.#input)}`;
      this.#terminal.say(`no host serves this agent now; waiting for one:\n  ${line}`);
    }
  }
}

async function showSession(session: Session, name: string, watched: Watching): Promise<void> {
  const { input, terminal, signal, notices } = watched;
  const view = new WatchView(terminal, (approval) => howToAnswer(approval, input));
  const fromStart = input.flag("from-start");
  await followSession(
    session,
    {
      entry: (entry) => view.entry(entry),
      past: (baseline) => view.past(baseline),
      stands(baseline, isFirst) {
        notices.begun();
        if (!isFirst) return view.now(baseline.running);
        const { state, about } = sessionLine(baseline.session);
        terminal.say(
          `session ${oneLine(name, 256)} is ${state}${about === "" ? "" : `: ${about}`}`,
        );
        if (fromStart) view.now(baseline.running);
        else view.begin(baseline);
      },
      isAnother: () => terminal.say("the session was deleted and made again"),
      other(frame) {
        if (frame.type === "partial") view.partial(frame.data);
        if (frame.type !== "outage" && frame.type !== "back") return;
        view.end();
        notices.connection(frame.type);
      },
      taken: () => terminal.flush(),
    },
    { fromStart, signal },
  );
  view.end();
}

async function printFrames(session: Session, watched: Watching): Promise<void> {
  const { input, terminal, signal } = watched;
  let isFirst = true;
  for await (const frame of session.watch({ signal })) {
    if (isFirst && frame.type === "baseline") {
      isFirst = false;
      const { epoch, head, entries } = frame.data;
      const before = input.flag("from-start") ? (entries[0]?.seq ?? head + 1) - 1 : 0;
      for await (const page of pages(session, 1, before, signal)) {
        for (const data of page)
          print({ type: "entry", id: `${epoch}.${data.seq}`, data }, terminal);
        await terminal.flush();
      }
    }
    print(frame, terminal);
    await terminal.flush();
  }
}

async function watchAll(
  { reached, input, terminal, signal, notices }: Watching,
  names?: TalkNames,
): Promise<void> {
  const { agent: own } = reached.agent;
  const list = new SessionList(terminal, (info) =>
    names ? names.of(info) : info.agent === own ? info.session : undefined,
  );
  for await (const frame of reached.client.watchHost({ signal })) {
    if (input.flag("json")) print(frame, terminal);
    else if (frame.type === "outage" || frame.type === "back") notices.connection(frame.type);
    else {
      notices.begun();
      await names?.learn(infosIn(frame));
      list.take(frame);
    }
    await terminal.flush();
  }
}

function infosIn(frame: Exclude<HostFrame, { type: "outage" | "back" }>): readonly SessionInfo[] {
  if (frame.type === "session") return [frame.data];
  return frame.type === "baseline" || frame.type === "reset" ? frame.data.sessions : [];
}

/** Undefined for a session that is not meant. */
type NameOf = (info: Pick<SessionInfo, "agent" | "session">) => string | undefined;

/** The sessions as they were last shown: a change that changes no word of its line is not shown. */
class SessionList {
  readonly #terminal: Terminal;
  readonly #shown = new Map<string, string>();
  readonly #nameOf: NameOf;
  #hasBegun = false;

  constructor(terminal: Terminal, nameOf: NameOf) {
    this.#terminal = terminal;
    this.#nameOf = nameOf;
  }

  take(frame: Exclude<HostFrame, { type: "outage" | "back" }>): void {
    switch (frame.type) {
      case "baseline":
      case "reset":
        for (const info of frame.data.sessions) this.#session(info, this.#hasBegun);
        this.#hasBegun = true;
        break;
      case "session":
        this.#session(frame.data, true);
        break;
      case "deleted": {
        const { agent, session } = frame.data;
        if (this.#shown.delete(keyOf(agent, session)))
          this.#terminal.answer(`${oneLine(this.#nameOf(frame.data) ?? session, 256)}  deleted\n`);
        break;
      }
      case "capabilities":
        for (const { message } of frame.data.notices) this.#terminal.say(oneLine(message, 500));
    }
  }

  /** At the beginning, what does nothing is not worth a line. */
  #session(info: SessionInfo, isChange: boolean): void {
    const name = this.#nameOf(info);
    if (name === undefined) return;
    const { state, waits, about } = sessionLine(info);
    const line = [oneLine(name, 256), state, waits, about].filter((word) => word !== "").join("  ");
    const key = keyOf(info.agent, info.session);
    if (this.#shown.get(key) === line) return;
    this.#shown.set(key, line);
    if (isChange || state !== "idle") this.#terminal.answer(`${line}\n`);
  }
}

function keyOf(agent: string, session: string): string {
  return JSON.stringify([agent, session]);
}

function print(frame: Frame | HostFrame, terminal: Terminal): void {
  const shown =
    frame.type === "outage"
      ? { ...frame, data: { ...frame.data, reason: faultBody(frame.data.reason).error } }
      : frame;
  terminal.answer(`${JSON.stringify(shown)}\n`);
}
