// The route by which a device sends a file to a session, for the next message to name.

import { json, readQuery } from "@lichen/server/door";
import { Fault } from "@lichen/wire";
import { Hono } from "hono";
import * as z from "zod";
import { type DoorEnv, refusedAs, sessionRoute } from "../routes/route.ts";
import type { MachineSessions } from "../sessions/machine-sessions.ts";
import { longestFile, tooLarge, type Uploads } from "./uploads.ts";

const FileQuery = z.strictObject({ name: z.string().max(4_096).default("") });

export function fileRoutes(sessions: MachineSessions, uploads: Uploads): Hono<DoorEnv> {
  const app = new Hono<DoorEnv>();
  sessionRoute(app, "/v1/sessions/:name/files", sessions, {
    POST: {
      right: "send",
      run: async ({ request, seat }) => {
        const { name } = readQuery(request, FileQuery);
        const kept = async (): Promise<string> => {
          if (Number(request.headers.get("content-length") ?? 0) > longestFile) throw tooLarge();
          return uploads.keep(seat.id, { name, bytes: piecesOf(request) });
        };
        return json({ path: await refusedAs(400, kept, "too_large") }, 201);
      },
    },
  });
  return app;
}

async function* piecesOf({ body }: Request): AsyncGenerator<Uint8Array> {
  if (!body) return;
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  let isWhole = false;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(cutShort);
      isWhole = done;
      if (done) return;
      yield value;
    }
  } finally {
    // The rest is not wanted; how the sender takes that is its own affair.
    if (!isWhole) reader.cancel().catch(() => {});
  }
}

function cutShort(cause: unknown): never {
  throw new Fault("invalid", "body: it broke off: send the file again.", { cause });
}
