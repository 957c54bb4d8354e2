// What is chosen from a list: a session, a model, something found.

import type { SelectItem } from "@earendil-works/pi-tui";
import type { Agent } from "@lichen/client";
import { Fault, type Found, type SessionInfo } from "@lichen/wire";
import { oneLine } from "../printable.ts";
import type { Chat } from "./chat.ts";
import { Picker, type PickerOptions } from "./panel/picker.ts";
import { durationInWords } from "./show/amounts.ts";

/** How far back what was found is looked for, in pages of 200 entries. */
const mostPages = 100;
/** Whose texts are searched: the latest active sessions. */
const mostSearched = 50;
/** How many sessions are looked through for a name, and how many of that name are enough. */
const mostListed = 5_000;
const enoughListed = 100;

export function pickSession(chat: Chat): void {
  const { agent } = reachOf(chat);
  const listing = new Listing(agent);
  pick(chat, {
    title: () =>
      listing.more
        ? `Sessions, the ${listing.known} latest active ones; typing looks further back`
        : "Sessions, the latest active first",
    empty: "none is called so; a message begins one, /search finds what was said",
    search: async (typed) => {
      const isFitting = holding(typed);
      const fits = (info: SessionInfo) => isFitting(sessionItem(chat, info));
      return (await listing.find(fits, typed.trim() !== "")).map((info) => sessionItem(chat, info));
    },
    choose: ({ value }) => chat.open(value),
  });
}

/** The sessions of an agent, read from the latest active one back as far as they are asked for. */
class Listing {
  readonly #agent: Agent;
  readonly #sessions = new Map<string, SessionInfo>();
  #next: string | undefined;
  #hasBegun = false;
  #reading: Promise<void> | undefined;

  constructor(agent: Agent) {
    this.#agent = agent;
  }

  get known(): number {
    return this.#sessions.size;
  }

  get more(): boolean {
    return this.#next !== undefined;
  }

  /** The sessions that fit; reads on until there are enough of them where `isFar`. */
  async find(fits: (info: SessionInfo) => boolean, isFar: boolean): Promise<SessionInfo[]> {
    if (!this.#hasBegun) await this.#read();
    const found = () => [...this.#sessions.values()].filter(fits);
    while (isFar && this.more && this.known < mostListed && found().length < enoughListed)
      await this.#read();
    return found();
  }

  /** Searches that come together share a page. */
  #read(): Promise<void> {
    return (this.#reading ??= this.#readPage().finally(() => {
      this.#reading = undefined;
    }));
  }

  async #readPage(): Promise<void> {
    const before = this.#next;
    const page = await this.#agent.sessions({ limit: 200, ...(before && { before }) });
    for (const info of page.sessions) this.#sessions.set(info.session, info);
    this.#next = page.next;
    this.#hasBegun = true;
  }
}

export function pickModel(chat: Chat): void {
  const { agent } = reachOf(chat);
  pick(chat, {
    title: "The model of this session",
    empty: "no model is called so",
    search: async (typed) => {
      const { models } = await agent.models({ q: typed, limit: 100 });
      return models.map(({ model, name, isReady }) => ({
        value: model,
        label: model,
        description: isReady ? (name ?? "") : "no key for it",
      }));
    },
    choose: ({ value }) => {
      chat.choose(undefined);
      chat.attempt(() => chat.setModel(value));
    },
  });
}

interface Place {
  readonly session: string;
  readonly seq: number;
  readonly item: SelectItem;
}

/** Looks for a text in the latest sessions; what is chosen is opened and brought into sight. */
export function pickFound(chat: Chat, text: string): void {
  const { agent } = reachOf(chat);
  let found: Promise<Place[]> | undefined;
  pick(chat, {
    title: `Where "${oneLine(text, 40)}" was said`,
    empty: `nowhere in the latest ${mostSearched} sessions`,
    search: async (typed) => {
      // What failed once is tried again at the next key.
      const places = await (found ??= searchAll(agent, text).catch((error: unknown) => {
        found = undefined;
        throw error;
      }));
      return places.map(({ item }) => item).filter(holding(typed));
    },
    choose: ({ value }) => {
      chat.attempt(async () => {
        const places = await found;
        const place = places?.find(({ item }) => item.value === value);
        if (place) await goTo(chat, place);
      });
    },
  });
}

async function searchAll(agent: Agent, q: string): Promise<Place[]> {
  const { sessions } = await agent.sessions({ limit: mostSearched });
  const pages = await Promise.all(
    sessions.map(async (info) => {
      const found = await foundIn(agent, info, q);
      return found.map((one) => placeOf(info, one));
    }),
  );
  return pages.flat();
}

/** Nothing in a session that was deleted meanwhile. */
async function foundIn(agent: Agent, { session }: SessionInfo, q: string): Promise<Found[]> {
  try {
    return (await agent.session(session).search({ q, limit: 20 })).found;
  } catch (error) {
    if (Fault.is(error) && error.code === "unknown_session") return [];
    throw error;
  }
}

function placeOf(info: SessionInfo, { seq, role, snippet }: Found): Place {
  const { session } = info;
  const item = {
    value: `${seq} ${session}`,
    label: oneLine(snippet, 200),
    description: `${role}, in ${oneLine(nameOf(info), 40)}`,
  };
  return { session, seq, item };
}

async function goTo(chat: Chat, { session, seq }: Place): Promise<void> {
  chat.open(session);
  const { following, screen } = chat;
  if (following === undefined) return;
  await following.opened;
  const isThere = await following.reach(seq, mostPages);
  const { shown } = chat;
  if (chat.following !== following || shown === undefined) return;
  screen.transcript.show(shown);
  const line = isThere ? screen.transcript.lineOf(seq) : undefined;
  if (line === undefined)
    chat.notices.say("It was said on another branch, or too far back to be shown.", "warn");
  else screen.scrollTo(line);
}

function sessionItem(chat: Chat, info: SessionInfo): SelectItem {
  const { session, state, approvals, lastAt, pending } = info;
  const isShown = chat.following?.session.id === session;
  const isUnread = !isShown && chat.reach?.directory.isUnread(info) === true;
  const waits =
    approvals > 0 ? "waits for you" : pending > 0 ? `${state}, ${pending} queued` : state;
  // A name does not tell what was said last.
  const said = info.title && info.preview ? `: ${oneLine(info.preview, 80)}` : "";
  return {
    value: session,
    label: `${isUnread ? "●" : " "} ${oneLine(nameOf(info), 120)}`,
    description: `${isShown ? "shown now" : `${waits}, ${ago(lastAt)}`}${said}`,
  };
}

/** What a person knows a session by. */
export function nameOf({ title, preview, session }: SessionInfo): string {
  return [title, preview, session].find((name) => name !== undefined && name !== "") ?? session;
}

function ago(at: string): string {
  const ms = Date.now() - Date.parse(at);
  return ms < 60_000 ? "just now" : `${durationInWords(ms).split(" ").slice(0, 2).join(" ")} ago`;
}

/** Whether an item holds every word that was typed. */
function holding(typed: string): (item: SelectItem) => boolean {
  const words = typed.toLowerCase().split(/\s+/);
  return ({ label, description = "", value }) => {
    const text = `${label} ${description} ${value}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
}

type Picked = Pick<PickerOptions, "title" | "empty" | "search" | "choose">;

function pick(chat: Chat, picked: Picked): void {
  const { screen } = chat;
  chat.choose(
    new Picker({
      ...picked,
      theme: screen.theme,
      rows: () => screen.rows,
      changed: () => screen.draw(),
      cancel: () => chat.choose(undefined),
    }),
  );
}

function reachOf(chat: Chat) {
  if (chat.reach) return chat.reach;
  throw new Fault(
    "unavailable",
    "The agent is not reached yet: try again when the foot of the screen names it.",
  );
}
