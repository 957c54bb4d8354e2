// Runs the screen: from the first paint, over reaching the agent, to leaving the terminal as it was.

import { createHash } from "node:crypto";
import { join } from "node:path";
import { type Agent, type Client, openOutbox } from "@lichen/client";
import { fileStorage } from "@lichen/client/node";
import { printable } from "../printable.ts";
import type { Terminal } from "../terminal.ts";
import { surroundings } from "./around.ts";
import { Chat, newSession, type OnlySession } from "./chat.ts";
import { Directory } from "./directory.ts";
import { askTerminal, depthOf, firstTheme } from "./looks.ts";
import { ModelInUse } from "./model-in-use.ts";
import { type Message, Outgoing } from "./outgoing.ts";
import { OwnTerminal } from "./own-terminal.ts";
import { pickSession } from "./pickers.ts";
import { quiet } from "./quiet.ts";
import { Screen } from "./screen.ts";
import { Seen } from "./seen.ts";
import { type ThemeName, themeOf } from "./show/theme.ts";
import { Typing, writtenIn } from "./typing.ts";

export interface ChatPlace {
  readonly client: Client;
  readonly agent: Agent;
  /** What stands for the host and the agent in the names of files that are kept for them. */
  readonly key: string;
  /** Whether its runs go on when the chat is over. */
  readonly isShared: boolean;
  /** The model that the session is to use, where one was asked for. */
  readonly model?: string | undefined;
  /** The folder of what chats keep: what is not sent yet, and what was read. */
  readonly keepIn: string;
  /** Ends the way to the agent, and the host where it was opened for this. */
  close(): Promise<void>;
}

/** One by its id; a new one, the latest active one, or one that is chosen from a list. */
export type WhichSession = { readonly id: string } | "new" | "last" | "choose";

export interface ChatOptions {
  /** Reaches the agent; what it says meanwhile is shown. */
  readonly reach: (say: (line: string) => void) => Promise<ChatPlace>;
  readonly session: WhichSession;
  /** That session is all that the agent has. */
  readonly only?: OnlySession | undefined;
  readonly theme?: ThemeName | undefined;
  /** How the session is gone on with, told on leaving. */
  readonly again: (session: string) => string;
}

/** Answers the exit code. Rejects with what kept the agent from being reached. */
export async function runChat(options: ChatOptions, terminal: Terminal): Promise<number> {
  const env = process.env;
  const model = new ModelInUse(() => chat.changed());
  const own = new OwnTerminal();
  const chat: Chat = new Chat(
    (it) =>
      new Screen(own, firstTheme(options.theme, env), surroundings(it, model), () => it.nearTop()),
    model,
    options.only,
  );
  new Typing(chat);
  const { screen, notices } = chat;
  const loud = quiet(
    (line) => notices.say(line),
    () => own.isWriting,
  );
  const leave = leavesOn(chat);
  const clock = setInterval(() => {
    const { view, following } = chat;
    if (following?.outage !== undefined || view?.running !== undefined) screen.draw();
  }, 1_000);
  await using ends = new AsyncDisposableStack();
  ends.defer(leave);
  ends.defer(() => clearInterval(clock));
  let place: ChatPlace | undefined;
  ends.defer(() => tellFarewell(chat, place, options, terminal));
  ends.defer(loud);
  const stop = once(async () => {
    // Keys that are on their way belong to the screen, and not to the shell after it.
    await screen.tui.terminal.drainInput(200, 30);
    screen.tui.stop({ preserveScreen: true });
  });
  ends.defer(stop);
  screen.tui.start();
  screen.tui.terminal.setTitle("lichen");
  screen.show(undefined, "editor");
  if (options.theme === undefined) void adopt(chat);
  const reaching = options
    .reach((line) => notices.say(line))
    .then((reached) => {
      place = reached;
      ends.defer(() => reached.close());
      ends.defer(() => chat.close());
      ends.defer(stop);
      return begin(chat, model, reached, options);
    });
  await Promise.race([reaching, chat.leaving.promise]);
  await chat.leaving.promise;
  // A way that is only just being made ends with the process; a host that is being opened there can bear that.
  reaching.catch(() => undefined);
  return 0;
}

function tellFarewell(
  chat: Chat,
  place: ChatPlace | undefined,
  options: ChatOptions,
  terminal: Terminal,
): void {
  const { view, following, reach } = chat;
  const unsent = reach?.outgoing.unsent ?? 0;
  if (view?.running !== undefined && place?.isShared === false)
    terminal.say("What ran goes on when the agent is opened again.");
  if (unsent > 0)
    terminal.say(
      `${unsent === 1 ? "1 message is" : `${unsent} messages are`} kept here and sent by the next chat.`,
    );
  for (const text of chat.early.texts)
    terminal.say(`not sent, since the agent was not reached: ${printable(text)}`);
  if (following !== undefined && (view !== undefined || unsent > 0))
    terminal.say(`To go on: ${options.again(following.session.id)}`);
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= work());
}

async function begin(
  chat: Chat,
  model: ModelInUse,
  place: ChatPlace,
  options: ChatOptions,
): Promise<void> {
  const { client, agent, keepIn, key } = place;
  const name = createHash("sha256").update(key).digest("hex").slice(0, 16);
  const folder = join(keepIn, name);
  const seen = await Seen.open(join(folder, "seen.json"), new Date());
  const outbox = await openOutbox({ client, storage: fileStorage(join(folder, "outbox")) });
  for (const damaged of outbox.damaged)
    chat.notices.say(`A message that was kept cannot be read, and stays: ${damaged}`, "error");
  const directory = new Directory(client, agent.agent, seen, () => chat.changed());
  const info = await agent.info();
  const session = await sessionOf(agent, options.session);
  const outgoing = new Outgoing(outbox, agent.agent);
  chat.screen.tui.terminal.setTitle(`lichen: ${printable(info.name)}`);
  model.begin(agent);
  chat.begin({ client, agent, name: info.name, outgoing, seen, directory }, session);
  if (options.session === "choose") pickSession(chat);
  if (place.model !== undefined) await chat.setModel(place.model);
  await chat.following?.opened;
  await sendEarly(chat, options.session);
  for (const text of writtenIn(chat)) chat.screen.editor.addToHistory(text);
}

/** Where a session is still to be chosen they are drafts again. */
async function sendEarly(chat: Chat, wanted: WhichSession): Promise<void> {
  const { following, early } = chat;
  const drafts: Message[] = [];
  await early.go(async (message) => {
    if (wanted === "choose") drafts.unshift(message);
    else await chat.send(message).catch((error: unknown) => chat.notices.sayError(error));
  });
  if (following) for (const draft of drafts) chat.giveBack(following.session.id, draft);
}

async function sessionOf(agent: Agent, wanted: WhichSession): Promise<string> {
  if (typeof wanted === "object") return wanted.id;
  if (wanted !== "last") return newSession();
  const { sessions } = await agent.sessions({ limit: 1 });
  return sessions[0]?.session ?? newSession();
}

/** Takes the colours that suit the terminal's background. */
async function adopt(chat: Chat): Promise<void> {
  const name = await askTerminal(chat.screen.tui);
  if (name !== undefined && name !== chat.screen.theme.name)
    chat.screen.theme = themeOf(name, depthOf(process.env));
}

/** A signal to end leaves as a person would; the answer forgets about it. */
function leavesOn(chat: Chat): () => void {
  const leave = (): void => chat.leave();
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, leave);
  return () => {
    for (const signal of signals) process.off(signal, leave);
  };
}
