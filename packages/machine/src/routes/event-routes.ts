// The route that tells a session's events: from where the reader stands, then as they come.

import { check, readQuery, type Streams } from "@lichen/server/door";
import type { Platform } from "@lichen/runtime";
import { Hono } from "hono";
import { Feed } from "../events/feed.ts";
import type { MachineSessions } from "../sessions/machine-sessions.ts";
import { EventsQuery, LastEventId } from "./bodies.ts";
import { type DoorEnv, type SessionAsk, sessionRoute } from "./route.ts";

export interface EventRoutesOptions {
  readonly sessions: MachineSessions;
  readonly streams: Streams;
  readonly platform: Platform;
}

const encoder = new TextEncoder();

export function eventRoutes({ sessions, streams, platform }: EventRoutesOptions): Hono<DoorEnv> {
  const app = new Hono<DoorEnv>();
  const mark = platform.randomId(24);

  const events = async ({ request, seat }: SessionAsk): Promise<Response> => {
    const { epoch, ...asked } = readQuery(request, EventsQuery);
    const last = request.headers.get("last-event-id");
    const wanted =
      last === null || last === "" ? (asked.after ?? 0) : check(LastEventId, last, "Last-Event-ID");
    const { session, harness } = seat;
    const info = await session.info();
    const newest = info.events ?? 0;
    // Numbers of another log, or beyond this one, say nothing here: the reader is told from the beginning.
    const isKnown = wanted <= newest && (epoch === undefined || epoch === info.epoch);
    const from = isKnown ? wanted : 0;
    const { tail } = asked;
    // Whoever catches up is never cut short.
    const after = from === 0 && tail !== undefined ? Math.max(newest - tail, 0) : from;
    const stream = streams.create();
    stream.write(encoder.encode(`: epoch ${info.epoch}\n\n`));
    const feed = new Feed({
      session,
      stream,
      after,
      at: { epoch: info.epoch, head: info.head, events: newest },
      now: () => platform.now(),
      report: (error) => platform.report(error),
      reading: harness,
      mark,
    });
    return streams.answer(stream, feed);
  };

  sessionRoute(app, "/v1/sessions/:name/events", sessions, {
    GET: { right: "read", run: events },
  });
  return app;
}
