// The machine API as one app behind a door that says who asks. Each room of the machine brings a router of its own.

import { type Mount, pathOf, Streams } from "@lichen/server/door";
import type { Platform } from "@lichen/runtime";
import { Fault } from "@lichen/wire";
import { Hono } from "hono";
import type { Harnesses } from "../harnesses/harness.ts";
import type { MachineSessions } from "../sessions/machine-sessions.ts";
import { absentRoutes } from "./absent-routes.ts";
import { eventRoutes } from "./event-routes.ts";
import { harnessRoutes } from "./harness-routes.ts";
import { type DoorEnv, refuse } from "./route.ts";
import { type Adopt, sessionRoutes } from "./session-routes.ts";
import { talkRoutes } from "./talk-routes.ts";

export interface MachineAppOptions {
  readonly sessions: MachineSessions;
  readonly harnesses: Harnesses;
  readonly platform: Platform;
  readonly adopt?: Adopt | undefined;
  /** Routers of further rooms, with whole paths (`/v1/…`). */
  readonly more?: readonly Hono<DoorEnv>[];
}

/** What a door mounts for `/v1/…`. */
export function createMachineMount(options: MachineAppOptions): Mount {
  const { sessions, harnesses, platform, more = [] } = options;
  const streams = new Streams((ms, wake) => platform.after(ms, wake), { beat: "keepalive" });
  const app = new Hono<DoorEnv>({ getPath: (request) => pathOf(request.url) });
  for (const router of [
    sessionRoutes(sessions, options.adopt),
    talkRoutes(sessions),
    eventRoutes({ sessions, streams, platform }),
    harnessRoutes(harnesses),
    absentRoutes(sessions),
    ...more,
  ])
    app.route("/", router);
  app.notFound(() => {
    throw new Fault("unknown_route", "There is no such route on this machine.");
  });
  app.onError((error) => {
    throw error;
  });
  return {
    prefix: "v1",
    run: (request, principal) => app.fetch(request, { principal }),
    refuse,
    drain: () => streams.drain(),
  };
}
