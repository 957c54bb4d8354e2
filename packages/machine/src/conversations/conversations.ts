// The conversations that coding agents have had on this computer: listed with who continues them, and continued.
//
//   AD1  Listed are those that could be continued here: with something in them, in a directory of this computer.
//   AD6  A conversation is one session's at a time, also when two ask for it at once.
//   AD7  Nothing is made for a request that is refused; no directory is made at all.

import { statSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { Fault } from "@lichen/wire";
import { charactersOf, oneLine } from "../events/lines.ts";
import type { Places } from "../harnesses/harness.ts";
import type { AdoptedSession } from "../routes/session-routes.ts";
import type { MachineSessions } from "../sessions/machine-sessions.ts";
import type { Seat } from "../sessions/seat.ts";
import { placeOf } from "../sessions/session-name.ts";
import type { Terminal, Terminals } from "../terminals/terminals.ts";
import { firstOf, lastLines } from "./transcript-file.ts";
import {
  directoryIn,
  type TranscriptHarness,
  transcriptHarnesses,
  type Turn,
  turnOf,
} from "./transcript.ts";
import { isConversationId, type Transcript, transcripts, transcriptsOf } from "./transcripts.ts";

/** As clients of the machine API know it. */
export interface ConversationInfo {
  readonly id: string;
  readonly harness: string;
  readonly dir: string;
  /** RFC 3339. */
  readonly modified: string;
  /** In bytes. */
  readonly size: number;
  readonly last_user: string;
  readonly last_assistant: string;
  /** The session that continues it; empty where none does. */
  readonly adopted_by: string;
  /** Those that work in its directory: which of them has it open cannot be told. */
  readonly terminals: readonly Omit<Terminal, "harness">[];
}

export interface ConversationsOptions {
  readonly sessions: MachineSessions;
  readonly places: Places;
  readonly terminals: Terminals;
}

interface Summary {
  readonly dir?: string;
  readonly lastUser: string;
  readonly lastAssistant: string;
}

const tailBytes = 524_288;
const headBytes = 2_097_152;
const shownCharacters = 160;
const together = 16;
const keptSummaries = 1_000;

export class Conversations {
  readonly #options: ConversationsOptions;
  /** What was read of transcripts that have not changed since, by file, size and time. */
  readonly #summaries = new Map<string, Summary>();
  readonly #adopting = new Set<string>();

  constructor(options: ConversationsOptions) {
    this.#options = options;
  }

  async list(limit: number): Promise<ConversationInfo[]> {
    const { places, terminals } = this.#options;
    const [all, open] = await Promise.all([transcripts(places), terminals.list()]);
    const runs = await Promise.all(open.map(async (it) => ({ ...it, at: await real(it.dir) })));
    const found: ConversationInfo[] = [];
    for (let at = 0; at < all.length && found.length < limit; at += together) {
      const some = all.slice(at, at + together);
      const summaries = await Promise.all(some.map((it) => this.#summary(it)));
      for (const [index, transcript] of some.entries()) {
        const { dir, lastUser, lastAssistant } = summaries[index]!;
        if (dir === undefined || !isHere(dir)) continue;
        const dirAt = await real(dir);
        found.push({
          id: transcript.id,
          harness: transcript.harness,
          dir,
          modified: new Date(transcript.modifiedMs).toISOString(),
          size: transcript.size,
          last_user: lastUser,
          last_assistant: lastAssistant,
          adopted_by: this.#continuing(transcript)?.name ?? "",
          terminals: runs
            .filter((it) => it.harness === transcript.harness && it.at === dirAt)
            .map(({ pid, dir: place, tmux, args }) => ({ pid, dir: place, tmux, args })),
        });
      }
    }
    return found.slice(0, limit);
  }

  /** Makes a session that goes on with the conversation. Throws a `Fault`; nothing is left then. */
  async adopt({ resume, dir: wanted, ...wish }: AdoptedSession, by?: string): Promise<Seat> {
    const { sessions } = this.#options;
    const harness = takenOver(wish.harness ?? "claude");
    if (!isConversationId(harness, resume))
      throw new Fault("invalid", "resume: not the id of a conversation: list them for their ids.");
    const key = `${harness}/${resume}`;
    if (this.#adopting.has(key)) throw continued(resume);
    this.#adopting.add(key);
    try {
      const { transcript, dir } = await this.#find(harness, resume, wanted);
      const continuing = this.#continuing(transcript);
      if (continuing) throw continued(resume, continuing.name);
      const { file, size } = transcript;
      // pi finds one of another folder only by its file.
      const conversation = { id: resume, ...(harness === "pi" ? { file } : {}) };
      const earlier = { file, bytes: size };
      return await sessions.create({ ...wish, harness, dir, conversation, earlier }, by);
    } finally {
      this.#adopting.delete(key);
    }
  }

  /** The transcript that can be continued, and the directory that it can be continued in. */
  async #find(
    harness: TranscriptHarness,
    id: string,
    wanted: string | undefined,
  ): Promise<{ readonly transcript: Transcript; readonly dir: string }> {
    const { places } = this.#options;
    const found = await transcriptsOf(harness, id, places);
    if (found.length === 0)
      throw new Fault(
        "invalid",
        `resume: there is no transcript of conversation ${id} on this machine: \`lichen adopt\` lists those that are.`,
      );
    const asked = wanted === undefined ? undefined : placeOf(wanted, places.home);
    let away: string | undefined;
    for (const transcript of found) {
      const own = await firstOf(transcript, headBytes, directoryIn);
      const dir = own ?? asked;
      if (dir === undefined) continue;
      if (!isHere(dir)) away ??= dir;
      else if (asked !== undefined && (await real(asked)) !== (await real(dir)))
        throw new Fault(
          "invalid",
          `dir: this conversation ran in ${dir}, and goes on only there: leave dir out.`,
        );
      else return { transcript, dir };
    }
    if (away !== undefined)
      throw new Fault(
        "invalid",
        `resume: the directory of this conversation, ${away}, is not on this machine: it goes on only where it ran.`,
      );
    throw new Fault(
      "invalid",
      "resume: the transcript does not say where the conversation ran: name its directory as dir.",
    );
  }

  #continuing({ harness, id, file }: Transcript): Seat | undefined {
    return this.#options.sessions.all().find((seat) => {
      if (seat.harness.name !== harness) return false;
      const { conversation } = seat;
      return conversation !== undefined && (conversation.id === id || conversation.file === file);
    });
  }

  async #summary(transcript: Transcript): Promise<Summary> {
    const { file, size, modifiedMs } = transcript;
    const key = `${size} ${modifiedMs} ${file}`;
    const known = this.#summaries.get(key);
    if (known) return known;
    const summary = await summaryOf(transcript);
    if (this.#summaries.size >= keptSummaries)
      for (const oldest of this.#summaries.keys()) {
        this.#summaries.delete(oldest);
        break;
      }
    this.#summaries.set(key, summary);
    return summary;
  }
}

async function summaryOf(transcript: Transcript): Promise<Summary> {
  const { harness } = transcript;
  const dir = await firstOf(transcript, headBytes, directoryIn);
  const last = new Map<Turn["role"], string>();
  for (const line of (await lastLines(transcript, tailBytes)).reverse()) {
    if (last.size === 2) break;
    const turn = turnOf(harness, line);
    if (turn && !last.has(turn.role)) last.set(turn.role, oneLine(turn.text, shownCharacters));
  }
  return {
    ...(dir === undefined ? {} : { dir }),
    lastUser: last.get("user") ?? "",
    lastAssistant: last.get("assistant") ?? "",
  };
}

function takenOver(name: string): TranscriptHarness {
  const harness = transcriptHarnesses.find((it) => it === name);
  if (harness) return harness;
  throw new Fault(
    "invalid",
    `harness: conversations of ${charactersOf(name, 64)} cannot be continued here: choose ${transcriptHarnesses.join(" or ")}.`,
  );
}

function continued(id: string, name?: string): Fault {
  const who = name === undefined ? "Another request" : `Session ${name}`;
  return new Fault(
    "conflict",
    `${who} continues conversation ${id} already: two writers would split it. Use that session, or delete it first.`,
  );
}

function isHere(dir: string): boolean {
  try {
    return statSync(dir, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    return false;
  }
}

async function real(dir: string): Promise<string> {
  return realpath(dir).catch(() => dir);
}
