// The route that tells which coding agents this machine runs sessions of, and what is missing for the others.

import { json, readQuery } from "@lichen/server/door";
import { Hono } from "hono";
import type { Harnesses } from "../harnesses/harness.ts";
import { NoQuery } from "./bodies.ts";
import { type DoorEnv, machineRoute } from "./route.ts";

/** A machine without containers for its sessions. */
const noCages = {
  available: false,
  image: "",
  images: [],
  nix: false,
  sealed: false,
  ready: false,
  building: false,
  error: "",
};

export function harnessRoutes(harnesses: Harnesses): Hono<DoorEnv> {
  const app = new Hono<DoorEnv>();
  machineRoute(app, "/v1/harnesses", {
    GET: {
      right: "readAll",
      run: ({ request }) => {
        readQuery(request, NoQuery);
        const looked = harnesses.look();
        return json({
          harnesses: looked
            .filter(({ harness, found }) => harness.takesCommand || found.missing === undefined)
            .map(({ harness: { name, title, caps, takesCommand } }) => ({
              name,
              title,
              caps,
              ...(takesCommand ? { takes_command: true } : {}),
            })),
          missing: looked
            .filter(({ harness }) => !harness.takesCommand)
            .flatMap(({ harness: { name, title }, found: { missing } }) =>
              missing === undefined ? [] : [{ name, title, missing }],
            ),
          cage: noCages,
        });
      },
    },
  });
  return app;
}
