// The routes that list this computer's conversations, and end a terminal that has one open.

import { json, noContent, readQuery } from "@lichen/server/door";
import { Hono } from "hono";
import * as z from "zod";
import { NoQuery } from "../routes/bodies.ts";
import { countIn } from "./count.ts";
import { type DoorEnv, machineRoute } from "../routes/route.ts";
import { noTerminal, type Terminals } from "../terminals/terminals.ts";
import type { Conversations } from "./conversations.ts";

const ListQuery = z.strictObject({ limit: countIn("limit", { usual: 30, most: 200 }) });

export function conversationRoutes(
  conversations: Conversations,
  terminals: Terminals,
): Hono<DoorEnv> {
  const app = new Hono<DoorEnv>();
  machineRoute(app, "/v1/conversations", {
    GET: {
      right: "readAll",
      run: async ({ request }) => {
        const { limit } = readQuery(request, ListQuery);
        return json({ conversations: await conversations.list(limit) });
      },
    },
  });
  machineRoute(app, "/v1/terminals/:pid/stop", {
    POST: {
      right: "change",
      run: async ({ request, name }) => {
        readQuery(request, NoQuery);
        const pid = name("pid");
        if (!/^[1-9]\d{0,9}$/.test(pid)) throw noTerminal(pid.slice(0, 64));
        await terminals.stop(Number(pid));
        return noContent();
      },
    },
  });
  return app;
}
