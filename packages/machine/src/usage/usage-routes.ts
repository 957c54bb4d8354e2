// The route that tells what this machine's sessions have used.

import { json, readQuery } from "@lichen/server/door";
import { Hono } from "hono";
import * as z from "zod";
import { type DoorEnv, machineRoute } from "../routes/route.ts";
import type { UsageTable } from "./usage-table.ts";

const UsageQuery = z.strictObject({
  since: z.iso.date({ error: "since: a day, as YYYY-MM-DD" }).exactOptional(),
});

export interface UsageRoutesOptions {
  readonly table: UsageTable;
  /** What this machine is called. */
  readonly machine: string;
  /** Settles when what logs say up to here is counted. */
  readonly counted: () => Promise<void>;
}

export function usageRoutes({ table, machine, counted }: UsageRoutesOptions): Hono<DoorEnv> {
  const app = new Hono<DoorEnv>();
  machineRoute(app, "/v1/usage", {
    GET: {
      right: "readAll",
      run: async ({ request }) => {
        const { since = "" } = readQuery(request, UsageQuery);
        await counted();
        return json({ machine, rows: table.rows(since), limits: null, credits: [] });
      },
    },
  });
  return app;
}
