// Everything below `/agents/{agent}`: the routes of the session door.
//
// The host mounts them behind its guard and its rights; a program that embeds an agent mounts them behind its own
// middleware, which says on whose behalf a request comes by setting the variable `meta`.

import type { Agent, Session } from "@lichen/runtime";
import { Command, Fault, type JsonObject } from "@lichen/wire";
import { Hono } from "hono";
import {
  answerThrown,
  type BugLog,
  guardedHeaders,
  json,
  noContent,
  refusal,
  tellBug,
} from "./answer.ts";
import { check, imageCap, readJson, readQuery } from "./body.ts";
import { invokeRoute } from "./invoke-route.ts";
import { type Ask, deedOf, nameReader, type Route, withoutBody, wrongMethod } from "./route.ts";
import {
  ChangeBody,
  CreateBody,
  Cursor,
  DeleteQuery,
  EventsQuery,
  ForkBody,
  ModelsQuery,
  NoQuery,
  ReadQuery,
  SearchQuery,
  SessionsQuery,
  SettlementQuery,
  WithdrawBody,
} from "./shapes.ts";
import type { Streams } from "./streams.ts";

export const sessionRoutesTable: readonly Route[] = [
  {
    path: "/sessions",
    methods: {
      GET: {
        rights: ["readAll"],
        run: async ({ request, agent }) =>
          json(await agent.sessions(readQuery(request, SessionsQuery))),
      },
      POST: {
        rights: ["change"],
        run: async ({ request, agent }) =>
          created(await agent.create(await readJson(request, CreateBody))),
      },
    },
  },
  {
    path: "/sessions/:session",
    methods: {
      GET: {
        rights: ["read"],
        run: async (ask) => json(await sessionOf(ask).read(readQuery(ask.request, ReadQuery))),
      },
      PATCH: {
        rights: ["change"],
        run: async (ask) =>
          json(await sessionOf(ask).change(await readJson(ask.request, ChangeBody))),
      },
      DELETE: {
        rights: ["change"],
        run: async (ask) => {
          await sessionOf(ask).delete(readQuery(ask.request, DeleteQuery));
          return noContent();
        },
      },
    },
  },
  {
    path: "/sessions/:session/fork",
    methods: {
      POST: {
        rights: ["change"],
        run: async (ask) =>
          created(await sessionOf(ask).fork(await readJson(ask.request, ForkBody))),
      },
    },
  },
  {
    path: "/sessions/:session/commands",
    methods: { POST: { rights: ["send", "answer"], run: command } },
  },
  {
    path: "/sessions/:session/withdraw",
    methods: {
      POST: {
        rights: ["send"],
        run: async (ask) => {
          const { requestId } = await readJson(ask.request, WithdrawBody);
          return json(await sessionOf(ask).withdraw(requestId));
        },
      },
    },
  },
  {
    path: "/sessions/:session/settlement",
    methods: { GET: { rights: ["read"], run: settlement } },
  },
  { path: "/sessions/:session/events", methods: { GET: { rights: ["read"], run: events } } },
  {
    path: "/sessions/:session/search",
    methods: {
      GET: {
        rights: ["read"],
        run: async (ask) => json(await sessionOf(ask).search(readQuery(ask.request, SearchQuery))),
      },
    },
  },
  { path: "/sessions/:session/blobs/:sha256", methods: { GET: { rights: ["read"], run: blob } } },
  {
    path: "/models",
    methods: {
      GET: {
        rights: ["readAll"],
        run: async ({ request, agent }) =>
          json(await agent.models(readQuery(request, ModelsQuery))),
      },
    },
  },
  { path: "/invoke", methods: { POST: { rights: ["send"], run: invokeRoute } } },
];

export interface SessionRoutesOptions {
  readonly streams: Streams;
  readonly log: BugLog;
}

/** The variables that an embedding program's middleware may set. */
export interface EmbeddedVariables {
  Variables: {
    /** On whose behalf the request comes: stored on what is admitted, and part of its identity. */
    meta?: JsonObject;
  };
}

/** The routes of one agent, for a program that puts its own middleware in front. */
export function sessionRoutes(
  agent: Agent,
  { streams, log }: SessionRoutesOptions,
): Hono<EmbeddedVariables> {
  const routes = new Hono<EmbeddedVariables>();
  for (const route of sessionRoutesTable)
    routes.all(route.path, async (context) => {
      const request = context.req.raw;
      try {
        const deed = deedOf(route, request.method);
        if (!deed) return wrongMethod(request.method, Object.keys(route.methods));
        const meta = context.get("meta");
        const own = meta === undefined ? agent : agent.withMeta(meta);
        const answer = await deed.run({
          request,
          agent: own,
          name: nameReader(route.path, request.url),
          demand: () => {},
          report: (error) => tellBug(error, request, log),
          streams,
        });
        return request.method === "HEAD" ? withoutBody(answer) : answer;
      } catch (error) {
        return answerThrown(error, request, log);
      }
    });
  routes.notFound(() => refusal(new Fault("unknown_route", "There is no such route.")));
  return routes;
}

function sessionOf(ask: Ask): Session {
  return ask.agent.session(ask.name("session"));
}

function created({ info, replay }: { info: unknown; replay: boolean }): Response {
  return json(info, replay ? 200 : 201);
}

async function command(ask: Ask): Promise<Response> {
  const id = ask.name("session");
  const body = await readJson(ask.request, Command, imageCap);
  ask.demand(body.type === "answer" ? "answer" : "send");
  // It stops a run as a cancel does.
  if (body.type === "answer" && body.interrupt) ask.demand("send");
  const receipt = await ask.agent.session(id).send(body);
  return json(receipt, receipt.replay ? 200 : 202);
}

async function settlement(ask: Ask): Promise<Response> {
  const { commandId, timeoutMs = 0 } = readQuery(ask.request, SettlementQuery);
  const session = sessionOf(ask);
  if (timeoutMs === 0) return json((await session.readSettlement(commandId)) ?? null);
  const { drained } = ask.streams;
  const signal = AbortSignal.any([ask.request.signal, drained]);
  const settled = await session.readSettlement(commandId, { timeoutMs, signal });
  if (!settled && drained.aborted)
    throw new Fault("unavailable", "The host is going down: ask again when it is back.");
  return json(settled ?? null);
}

function events(ask: Ask): Response {
  const after = cursorOf(ask.request);
  const session = sessionOf(ask);
  return ask.streams.watch((sink) => session.observe(sink, after === undefined ? {} : { after }));
}

/** Where the reader stands: what it received last, else what its address says. */
export function cursorOf(request: Request): string | undefined {
  const { after } = readQuery(request, EventsQuery);
  const last = request.headers.get("last-event-id");
  return last === null || last === "" ? after : check(Cursor, last, "Last-Event-ID");
}

/** Types that a browser may show as they are; all others are handed over as bytes to keep. */
const shown = /^(image\/(png|jpeg|gif|webp)|text\/plain)(;|$)/;

async function blob(ask: Ask): Promise<Response> {
  readQuery(ask.request, NoQuery);
  const sha256 = ask.name("sha256");
  if (!/^[0-9a-f]{64}$/.test(sha256))
    throw new Fault("invalid", "sha256: 64 characters of lower-case hex");
  const found = await sessionOf(ask).blob(sha256);
  if (!found) throw new Fault("unknown_entry", `No entry of this session holds blob ${sha256}.`);
  const isShown = shown.test(found.mimeType);
  return new Response(new Uint8Array(found.bytes), {
    headers: {
      ...guardedHeaders,
      "cache-control": "private, max-age=31536000, immutable",
      "content-security-policy": "default-src 'none'; sandbox",
      "content-type": isShown ? found.mimeType : "application/octet-stream",
      etag: `"${sha256}"`,
      ...(isShown ? {} : { "content-disposition": "attachment" }),
    },
  });
}
