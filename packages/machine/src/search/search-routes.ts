// The route that searches a session's whole conversation: its log, and what was said before it continued one.
//
//   AD32 Hits stand newest first: those of the log under their events' numbers, then earlier ones whole, under 0.

import { json, readQuery } from "@lichen/server/door";
import { Hono } from "hono";
import * as z from "zod";
import { countIn } from "../conversations/count.ts";
import { type DoorEnv, sessionRoute } from "../routes/route.ts";
import type { MachineSessions } from "../sessions/machine-sessions.ts";
import type { EarlierTurns, FoundTurn } from "./earlier.ts";

const SearchQuery = z.strictObject({
  q: z.string().min(1).max(1_000),
  limit: countIn("limit", { usual: 50, most: 200 }),
});

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
        // What was typed and what the model said; not what tools put out.
        const roles = ["user", "assistant"] as const;
        const { found } = await seat.session.search({ q, limit, roles });
        const hits: Hit[] = found.map(({ n, at, role, snippet }) => ({
          seq: n ?? 0,
          time: at,
          role,
          snippet,
        }));
        if (hits.length < limit) hits.push(...earlier.search(seat.id, q, limit - hits.length));
        return json({ found: hits });
      },
    },
  });
  return app;
}
