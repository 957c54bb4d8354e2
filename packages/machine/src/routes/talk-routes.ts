// The routes by which people talk with a session: messages, answers to prompts, interrupts.

import { demand, guardedHeaders, json, noContent, readJson } from "@lichen/server/door";
import { Hono } from "hono";
import type { MachineSessions } from "../sessions/machine-sessions.ts";
import { MessageBody, PromptBody } from "./bodies.ts";
import { type DoorEnv, refusedAs, sessionRoute } from "./route.ts";

export function talkRoutes(sessions: MachineSessions): Hono<DoorEnv> {
  const app = new Hono<DoorEnv>();

  sessionRoute(app, "/v1/sessions/:name/messages", sessions, {
    POST: {
      right: "send",
      run: async ({ request, by, seat }) => {
        const message = await readJson(request, MessageBody);
        const { duplicate } = await refusedAs(409, () => seat.send(message, by));
        return duplicate ? json({ duplicate: true }) : accepted();
      },
    },
  });

  sessionRoute(app, "/v1/sessions/:name/prompts/:id", sessions, {
    POST: {
      right: "answer",
      run: async ({ request, principal, by, seat, name }) => {
        const answer = await readJson(request, PromptBody);
        if (answer.interrupt) demand(principal, "send");
        await refusedAs(409, () => seat.answer(name("id"), answer, by));
        return noContent();
      },
    },
  });

  sessionRoute(app, "/v1/sessions/:name/interrupt", sessions, {
    POST: {
      right: "send",
      run: async ({ by, seat }) => {
        await refusedAs(409, () => seat.interrupt(by));
        return accepted();
      },
    },
  });
  return app;
}

function accepted(): Response {
  return new Response(null, { status: 202, headers: guardedHeaders });
}
