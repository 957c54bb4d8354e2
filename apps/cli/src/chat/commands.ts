// What can be typed after a slash: one table for the editor's completion, for help and for what is done.

import { randomUUID } from "node:crypto";
import { Fault, Reasoning } from "@lichen/wire";
import { oneLine } from "../printable.ts";
import { pathOf } from "./attachments.ts";
import type { Chat } from "./chat.ts";
import { actionsOf, otherKeys } from "./keys.ts";
import { Choices } from "./panel/choices.ts";
import { Page } from "./panel/page.ts";
import { nameOf, pickFound, pickModel, pickSession } from "./pickers.ts";
import type { ThemeName } from "./show/theme.ts";

export interface SlashCommand {
  readonly name: string;
  readonly argument?: string;
  readonly says: string;
  /** Of no use where the agent has one session. */
  readonly isOfMany?: boolean;
  /** What the argument can be, where that is a closed set. */
  readonly values?: readonly string[];
  /** May throw a refusal, which is told. */
  run(chat: Chat, argument: string): Promise<void> | void;
}

/** The commands of a chat. */
export function commandsOf({ only }: Pick<Chat, "only">): readonly SlashCommand[] {
  if (!only) return slashCommands;
  const anew = "begin the conversation anew: the agent forgets what was said";
  return slashCommands
    .filter(({ isOfMany }) => isOfMany !== true)
    .map((it) => (it.name === "new" ? { ...it, says: anew } : it));
}

const slashCommands: readonly SlashCommand[] = [
  { name: "new", says: "begin a new session", run: (chat) => chat.openNew() },
  {
    name: "sessions",
    says: "go on with another session",
    isOfMany: true,
    run: pickSession,
  },
  {
    name: "search",
    argument: "text",
    says: "find what was said in the latest sessions",
    run: (chat, text) => pickFound(chat, needed("search", text)),
  },
  {
    name: "model",
    argument: "[provider/id]",
    says: "choose the model of this session",
    run: (chat, model) => (model === "" ? pickModel(chat) : chat.setModel(model)),
  },
  {
    name: "reasoning",
    argument: "[level]",
    says: "how hard the model thinks",
    values: Reasoning.options,
    run: (chat, level) => setReasoning(chat, level),
  },
  {
    name: "compact",
    argument: "[instructions]",
    says: "shorten the conversation to a summary, to go on from",
    run: (chat, instructions) =>
      outgoing(chat, ({ send, session }) => send.compact(session, instructions)),
  },
  {
    name: "attach",
    argument: "path",
    says: "send an image with the next message",
    run: async (chat, path) => {
      await chat.attachments.addFile(pathOf(needed("attach", path), process.cwd()));
    },
  },
  {
    name: "detach",
    says: "leave out the image that was attached last",
    run: (chat) => {
      if (chat.attachments.removeLast() === undefined)
        throw new Fault("invalid", "No image is attached.");
    },
  },
  {
    name: "note",
    argument: "text",
    says: "write into the conversation without asking for an answer",
    run: (chat, text) =>
      outgoing(chat, ({ send, session }) => send.note(session, needed("note", text))),
  },
  { name: "stop", says: "stop the run and all that is queued", run: stopAll },
  {
    name: "retry",
    says: "send a message that was refused again",
    run: (chat) =>
      outgoing(chat, async ({ send, session }) => {
        if (!(await send.retry(session)))
          throw new Fault("invalid", "No message was refused here.");
      }),
  },
  {
    name: "title",
    argument: "text",
    says: "name this session",
    isOfMany: true,
    run: (chat, title) => chat.set({ title: needed("title", title) }),
  },
  {
    name: "fork",
    says: "go on from here in a session of its own",
    isOfMany: true,
    run: fork,
  },
  {
    name: "delete",
    says: "delete this session and all that was said in it",
    isOfMany: true,
    run: confirmDelete,
  },
  {
    name: "theme",
    argument: "dark|light",
    says: "the colours of the screen",
    values: ["dark", "light"],
    run: (chat, name) => {
      if (!isThemeName(name)) throw new Fault("invalid", "/theme takes dark or light.");
      chat.setTheme(name);
    },
  },
  { name: "help", says: "the keys and commands", run: showHelp },
  { name: "quit", says: "leave; what runs goes on with its host", run: (chat) => chat.leave() },
];

/** The next level of reasoning, after the last the first again. */
export async function nextReasoning(chat: Chat): Promise<void> {
  const levels = await chat.levels();
  const at = chat.reasoning === undefined ? -1 : levels.indexOf(chat.reasoning);
  const next = levels[(at + 1) % levels.length];
  if (next === undefined) throw new Fault("invalid", "This model has no levels of reasoning.");
  await chat.set({ reasoning: next });
  chat.notices.say(`Reasoning: ${next}.`);
}

async function setReasoning(chat: Chat, level: string): Promise<void> {
  const reasoning = Reasoning.safeParse(level);
  if (!reasoning.success)
    throw new Fault("invalid", `/reasoning takes one of ${Reasoning.options.join(", ")}.`);
  await chat.set({ reasoning: reasoning.data });
}

async function stopAll(chat: Chat): Promise<void> {
  const session = chat.following?.session;
  if (session === undefined || chat.view === undefined) return;
  const { cancelled = [] } = await session.send({
    type: "abort",
    requestId: `stop-${randomUUID()}`,
  });
  chat.notices.say(cancelled.length === 0 ? "Nothing runs and nothing is queued." : "Stopping.");
}

async function fork(chat: Chat): Promise<void> {
  const session = chat.following?.session;
  if (session === undefined || chat.view === undefined)
    throw new Fault("invalid", "There is nothing to fork yet: the session has no message.");
  const { info } = await session.fork({ requestId: `fork-${randomUUID()}` });
  const title = forkTitle(nameOf(chat.view.session));
  // Without it the fork is there all the same.
  await chat.reach?.agent
    .session(info.session)
    .change({ title })
    .catch(() => undefined);
  chat.open(info.session);
  chat.notices.say("This session goes on from a copy: nothing said here changes the other one.");
}

/** The name with a mark: a fork of a fork counts. */
function forkTitle(name: string): string {
  const [mark, count = "1"] = / \(fork(?: (\d{1,6}))?\)$/.exec(name) ?? [];
  if (mark === undefined) return `${oneLine(name, 80)} (fork)`;
  return `${oneLine(name.slice(0, -mark.length), 80)} (fork ${Number(count) + 1})`;
}

function confirmDelete(chat: Chat): void {
  const session = chat.following?.session;
  const view = chat.view;
  if (session === undefined || view === undefined)
    throw new Fault("invalid", "There is nothing to delete: the session has no message.");
  const { theme } = chat.screen;
  const close = () => chat.choose(undefined);
  chat.choose(
    new Choices({
      theme,
      head: () => [theme.warn(`Delete this session, with ${view.session.turns} turns, for good?`)],
      choices: () => [
        { label: "Keep it", choose: close },
        {
          label: "Delete it",
          choose: () => {
            close();
            chat.attempt(async () => {
              await session.delete({ epoch: view.session.epoch });
              chat.reach?.seen.forget(session.id);
              await chat.openNew();
              chat.notices.say("The session is deleted; this is a new one.");
            });
          },
        },
      ],
      hints: "↑↓ and enter · esc keeps it",
      cancel: close,
      other: () => undefined,
    }),
  );
}

function showHelp(chat: Chat): void {
  const rows: [string, string][] = [
    ...otherKeys.map(([keys, says]): [string, string] => [keys, says]),
    ...actionsOf(chat).map(({ keys, says }): [string, string] => [keys.join(", "), says]),
    ...commandsOf(chat).map(({ name, argument, says }): [string, string] => [
      `/${name}${argument === undefined ? "" : ` ${argument}`}`,
      says,
    ]),
    ["//…", "a message that begins with a slash"],
  ];
  const { theme } = chat.screen;
  chat.choose(
    new Page({
      title: "Keys and commands",
      lines: rows.map(([left, says]) => `${theme.accent(left)}  ${says}`),
      theme,
      rows: () => chat.screen.rows,
      cancel: () => chat.choose(undefined),
    }),
  );
}

async function outgoing(
  chat: Chat,
  work: (to: { send: NonNullable<Chat["reach"]>["outgoing"]; session: string }) => Promise<void>,
): Promise<void> {
  const session = chat.following?.session.id;
  if (session === undefined || chat.reach === undefined)
    throw new Fault(
      "unavailable",
      "The agent is not reached yet: try again when the foot of the screen names it.",
    );
  await work({ send: chat.reach.outgoing, session });
}

function needed(name: string, argument: string): string {
  if (argument !== "") return argument;
  throw new Fault("invalid", `/${name} takes something behind it: /${name} …`);
}

function isThemeName(name: string): name is ThemeName {
  return name === "dark" || name === "light";
}
