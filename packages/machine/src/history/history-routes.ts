// The route that tells what was said in a session's conversation, from the transcript that its harness keeps.
//
//   AD25 Of a conversation that a session continues it is what was said before; at most 4 MiB of the transcript are read.

import { json, readQuery } from "@lichen/server/door";
import { Hono } from "hono";
import * as z from "zod";
import { countIn } from "../conversations/count.ts";
import { lastLines, newestTurns, type TranscriptFile } from "../conversations/transcript-file.ts";
import {
  type TranscriptHarness,
  transcriptHarnesses,
  type Turn,
  turnOf,
} from "../conversations/transcript.ts";
import { rootAround, rootOf, transcriptsOf } from "../conversations/transcripts.ts";
import { type DoorEnv, sessionRoute } from "../routes/route.ts";
import type { Places } from "../harnesses/harness.ts";
import type { MachineSessions } from "../sessions/machine-sessions.ts";
import type { Seat } from "../sessions/seat.ts";

const readBytes = 4_194_304;

const HistoryQuery = z.strictObject({
  limit: countIn("limit", { usual: 30, most: 200 }),
  before: z.iso
    .datetime({ offset: true, error: "before: a time as RFC 3339 writes it" })
    .transform((text) => Date.parse(text))
    .exactOptional(),
});

export interface HistoryOptions {
  readonly sessions: MachineSessions;
  readonly places: Places;
}

export function historyRoutes(options: HistoryOptions): Hono<DoorEnv> {
  const app = new Hono<DoorEnv>();
  sessionRoute(app, "/v1/sessions/:name/history", options.sessions, {
    GET: {
      right: "read",
      run: async ({ request, seat }) => {
        const { limit, before } = readQuery(request, HistoryQuery);
        return json({ history: await history(options, seat, limit, before) });
      },
    },
  });
  return app;
}

/** The newest `limit` turns, oldest first; those before a time (milliseconds since the epoch) where one is named. */
async function history(
  { places }: HistoryOptions,
  seat: Seat,
  limit: number,
  before: number | undefined,
): Promise<{ readonly time: string; readonly role: string; readonly text: string }[]> {
  const harness = transcriptHarnesses.find((it) => it === seat.harness.name);
  if (!harness) return [];
  const { earlier } = seat.settings;
  const transcript = earlier
    ? { file: earlier.file, root: rootAround(earlier.file) }
    : await ownTranscript(harness, seat.conversation, places);
  if (transcript === undefined) return [];
  const lines = await lastLines(transcript, readBytes, earlier?.bytes);
  const isWanted = ({ time }: Turn): boolean =>
    before === undefined || (time !== "" && Date.parse(time) < before);
  const turns = newestTurns(lines, (line) => turnOf(harness, line), limit, isWanted);
  return turns.map(({ time, role, text }) => ({ time, role, text }));
}

/** The transcript of the conversation that a session is in; a harness that names its file may name anything. */
async function ownTranscript(
  harness: TranscriptHarness,
  conversation: Seat["conversation"],
  places: Places,
): Promise<TranscriptFile | undefined> {
  if (!conversation) return undefined;
  const { id, file } = conversation;
  if (file !== undefined) return { file, root: rootOf(harness, places) };
  const [newest] = await transcriptsOf(harness, id, places);
  return newest;
}
