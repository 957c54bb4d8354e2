// Routes about what this machine has none of: cages, voice, tasks, files between agents. They answer as the machine API
// says of a machine without them, so that its clients do not take a session for gone where only its cage is.

import { json, readJson, readQuery } from "@lichen/server/door";
import { Fault } from "@lichen/wire";
import { Hono } from "hono";
import type { MachineSessions } from "../sessions/machine-sessions.ts";
import { CageBody, NoQuery, TasksQuery } from "./bodies.ts";
import { type DoorEnv, machineRoute, Refusal, sessionRoute } from "./route.ts";

export function absentRoutes(sessions: MachineSessions): Hono<DoorEnv> {
  const app = new Hono<DoorEnv>();

  sessionRoute(app, "/v1/sessions/:name/cage", sessions, {
    POST: {
      right: "change",
      run: async ({ request, seat }) => {
        const { cage } = await readJson(request, CageBody);
        if (cage !== null)
          throw new Fault(
            "conflict",
            "cage: this machine has no cages: leave the session outside.",
          );
        return json(seat.info());
      },
    },
  });

  const voice = { POST: { right: "send", run: noVoice } } as const;
  sessionRoute(app, "/v1/sessions/:name/voice", sessions, voice);
  sessionRoute(app, "/v1/sessions/:name/voice/:id/retry", sessions, voice);
  sessionRoute(app, "/v1/sessions/:name/transcribe", sessions, voice);

  machineRoute(app, "/v1/tasks", {
    GET: {
      right: "readAll",
      run: ({ request }) => {
        readQuery(request, TasksQuery);
        return json({ tasks: [] });
      },
    },
  });

  sessionRoute(app, "/v1/sessions/:name/drop", sessions, {
    GET: {
      right: "read",
      run: ({ request }) => {
        readQuery(request, NoQuery);
        return json({ files: [] });
      },
    },
    POST: { right: "change", run: noFiles },
    DELETE: { right: "change", run: noFiles },
  });
  sessionRoute(app, "/v1/sessions/:name/outbox/send", sessions, {
    POST: { right: "change", run: noFiles },
  });
  return app;
}

function noFiles(): never {
  throw new Fault("unknown_route", "Agents send each other no files on this machine.");
}

function noVoice(): never {
  throw new Refusal(
    new Fault("unavailable", "This machine does not turn speech into text: type it.", {
      retryable: false,
    }),
    501,
  );
}
