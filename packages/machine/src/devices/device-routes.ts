// The routes by which an owner admits devices, and the one by which a device brings its code.
//
//   DV6  Of all of them only `POST /v1/pair/claim` asks for no credential. An address brings ten wrong codes a minute; a good
//        one is taken whatever came before it, since behind one address there may be many: a process that only brings wrong
//        ones would keep its owner out. What keeps a code from being guessed is its length.

import { type Arrival, check, json, noContent, readJson, readQuery } from "@lichen/server/door";
import type { Platform } from "@lichen/runtime";
import {
  ClaimRequest,
  DeviceChange,
  DeviceId,
  EnrolRequest,
  Fault,
  PairRequest,
} from "@lichen/wire";
import { Hono } from "hono";
import * as z from "zod";
import { type DoorEnv, machineRoute } from "../routes/route.ts";
import { Attempts } from "./attempts.ts";
import type { Devices } from "./devices.ts";
import type { Pairing } from "./pairing.ts";

export interface DeviceRoutesOptions {
  readonly devices: Devices;
  readonly pairing: Pairing;
  readonly platform: Pick<Platform, "now">;
  /** How a request came. */
  readonly arrivalOf: (request: Request) => Arrival | undefined;
  /** The address at which devices reach this machine: `http://host:port`. */
  readonly address: () => string;
  /** A mesh peer by its stable key, with what it is called; undefined where no mesh knows it. */
  readonly peer: (id: string) => { readonly name: string } | undefined;
  /** Aborts when the host goes down. */
  readonly drained: AbortSignal;
}

const wrongCodesAMinute = 10;
const NoQuery = z.strictObject({});
const WaitQuery = z.strictObject({
  timeout_ms: z
    .string()
    .regex(/^\d{1,5}$/, "timeout_ms: a whole number")
    .transform(Number)
    .pipe(z.int().min(0).max(30_000))
    .exactOptional(),
});

/** Everything below `/v1/devices` and `/v1/pair` that is for who may admit devices. */
export function deviceRoutes(options: DeviceRoutesOptions): Hono<DoorEnv> {
  const { devices, pairing, arrivalOf, address, peer, drained } = options;
  const app = new Hono<DoorEnv>();
  const idOf = (name: (parameter: string) => string) => check(DeviceId, name("device"), "device");

  machineRoute(app, "/v1/devices", {
    GET: {
      right: "devices",
      run: ({ request }) => {
        readQuery(request, NoQuery);
        return json({ devices: devices.list() });
      },
    },
    POST: {
      right: "devices",
      run: async ({ request }) => {
        const wish = await readJson(request, EnrolRequest);
        const found = peer(wish.peer);
        if (!found)
          throw new Fault(
            "invalid",
            "peer: no mesh of this machine knows it: `GET /v1/peers` tells each peer's id",
          );
        const device = devices.enrol(wish.peer, wish.name ?? found.name, wish.kind ?? "owner");
        return json(device, 201);
      },
    },
  });

  machineRoute(app, "/v1/devices/:device", {
    PATCH: {
      right: "devices",
      run: async ({ request, name }) => {
        const change = await readJson(request, DeviceChange);
        return json(devices.change(idOf(name), { ...change, sparing: arrivalOf(request) }));
      },
    },
    DELETE: {
      right: "devices",
      run: ({ request, name }) => {
        readQuery(request, NoQuery);
        devices.revoke(idOf(name), { sparing: arrivalOf(request) });
        return noContent();
      },
    },
  });

  machineRoute(app, "/v1/pair", {
    POST: {
      right: "devices",
      run: async ({ request }) => {
        const { code, state } = pairing.offer(await readJson(request, PairRequest));
        const { id, kind, expires_at } = state;
        return json({ id, code, url: `${address()}/pair#${code}`, kind, expires_at }, 201);
      },
    },
  });

  machineRoute(app, "/v1/pair/:pair", {
    GET: {
      right: "devices",
      run: async ({ request, name }) => {
        const { timeout_ms: timeoutMs = 0 } = readQuery(request, WaitQuery);
        const signal = AbortSignal.any([request.signal, drained]);
        return json(await pairing.state(name("pair"), { timeoutMs, signal }));
      },
    },
    DELETE: {
      right: "devices",
      run: ({ request, name }) => {
        readQuery(request, NoQuery);
        pairing.withdraw(name("pair"));
        return noContent();
      },
    },
  });
  return app;
}

/** The one route that asks for no credential but the code in its body. */
export function claimRoute(options: DeviceRoutesOptions): Hono<DoorEnv> {
  const { pairing, platform, arrivalOf } = options;
  const app = new Hono<DoorEnv>();
  const attempts = new Attempts({ now: platform.now, most: wrongCodesAMinute, everyMs: 60_000 });
  machineRoute(app, "/v1/pair/claim", {
    POST: {
      run: async ({ request }) => {
        const from = arrivalOf(request)?.from;
        const wish = await readJson(request, ClaimRequest);
        try {
          return json(pairing.claim(wish, from), 201);
        } catch (error) {
          const isWrong = Fault.is(error) && error.code === "unauthenticated";
          const waitMs = isWrong ? attempts.take(from ?? "") : 0;
          if (waitMs === 0) throw error;
          throw new Fault(
            "capacity",
            `Too many wrong pairing codes came from there: try again in ${Math.ceil(waitMs / 1000)} seconds, or with the code that the machine's owner sees now.`,
            { cause: error },
          );
        }
      },
    },
  });
  return app;
}
