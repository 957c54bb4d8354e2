// The route that searches a session's whole conversation: its log, and what was said before it continued one.
//
//   AD32 Hits stand newest first: those of the log under their events' numbers, then earlier ones whole, under 0.

import { json, readQuery } from "@lichen/server/door";
import type { Session } from "@lichen/runtime";
import { known } from "@lichen/wire";
import { Hono } from "hono";
import * as z from "zod";
import { countIn } from "../conversations/count.ts";
import { factsOf } from "../events/lines.ts";
import type { LineReading } from "../harnesses/harness.ts";
import { type DoorEnv, sessionRoute } from "../routes/route.ts";
import type { MachineSessions } from "../sessions/machine-sessions.ts";
import type { Seat } from "../sessions/seat.ts";
import type { EarlierTurns, FoundTurn } from "./earlier.ts";

const SearchQuery = z.strictObject({
  q: z.string().min(1).max(1_000),
  limit: countIn("limit", { usual: 50, most: 200 }),
});

/** Hits that the log is asked for at most. */
const mostAsked = 200;

type Hit =
  | FoundTurn
  | {
      readonly seq: number;
      readonly time: string;
      readonly role: string;
      readonly snippet: string;
    };

export function searchRoutes(sessions: MachineSessions, earlier: EarlierTurns): Hono<DoorEnv> {
  const app = new Hono<DoorEnv>();
  sessionRoute(app, "/v1/sessions/:name/search", sessions, {
    GET: {
      right: "read",
      run: async ({ request, seat }) => {
        const { q, limit } = readQuery(request, SearchQuery);
        const hits: Hit[] = await inLog(seat, q, limit);
        if (hits.length < limit) hits.push(...earlier.search(seat.id, q, limit - hits.length));
        return json({ found: hits });
      },
    },
  });
  return app;
}

/** What was typed and what the model said; not what tools put out, nor what the harness made up. */
async function inLog({ session, harness }: Seat, q: string, limit: number): Promise<Hit[]> {
  const roles = ["user", "assistant"] as const;
  for (let asked = limit; ; asked = Math.min(asked * 2, mostAsked)) {
    const { found } = await session.search({ q, limit: asked, roles });
    const hits: Hit[] = [];
    for (const { n = 0, at, role, snippet } of found) {
      if (hits.length === limit) break;
      if (role === "assistant" && (await isMadeUp(session, n, harness))) continue;
      hits.push({ seq: n, time: at, role, snippet });
    }
    if (hits.length === limit || found.length < asked || asked === mostAsked) return hits;
  }
}

/** A message stands in the log behind its line. */
async function isMadeUp(session: Session, n: number, lines: LineReading): Promise<boolean> {
  const { events } = await session.events({ after: n - 1, limit: 1 });
  const [event] = events;
  const entry = event?.n === n ? known(event.entry) : undefined;
  if (entry?.kind !== "harness.line") return false;
  const { line } = entry.data;
  return factsOf(lines.toClaudeLine?.(line) ?? line).isMadeUp === true;
}
