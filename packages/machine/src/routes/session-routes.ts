// The routes that list, make, change and remove sessions.

import { demand, json, noContent, readJson, readQuery } from "@lichen/server/door";
import { Fault } from "@lichen/wire";
import { Hono } from "hono";
import type * as z from "zod";
import { tailLines } from "../sessions/glance.ts";
import type { MachineSessions, NewSession } from "../sessions/machine-sessions.ts";
import type { Seat } from "../sessions/seat.ts";
import { onlySession } from "../harnesses/late-engine.ts";
import { CreateBody, ListQuery, NoQuery, RenameBody, SettingsBody } from "./bodies.ts";
import {
  type Ask,
  type DoorEnv,
  machineRoute,
  refusedAs,
  type SessionAsk,
  sessionRoute,
} from "./route.ts";

/** A session that goes on with a conversation of its harness. */
export interface AdoptedSession extends Omit<NewSession, "dir" | "conversation"> {
  /** The conversation's id. */
  readonly resume: string;
  readonly dir?: string;
}

/** Finds the conversation and makes the session that continues it. */
export type Adopt = (wish: AdoptedSession, by?: string) => Promise<Seat>;

export function sessionRoutes(sessions: MachineSessions, adopt?: Adopt): Hono<DoorEnv> {
  const app = new Hono<DoorEnv>();

  const made = async (wish: z.infer<typeof CreateBody>, by?: string): Promise<Seat> => {
    const { cage: _cage, resume, dir, ...own } = wish;
    if (resume !== undefined) {
      if (!adopt)
        throw new Fault(
          "invalid",
          "resume: this machine continues no conversations from elsewhere.",
        );
      return adopt({ ...own, resume, ...(dir === undefined ? {} : { dir }) }, by);
    }
    if (dir === undefined) throw new Fault("invalid", "dir: name the session's directory.");
    return sessions.create({ ...own, dir }, by);
  };

  machineRoute(app, "/v1/sessions", {
    // Every session's process may look for itself.
    GET: { run: (ask) => list(sessions, ask) },
    POST: {
      right: "change",
      run: async ({ request, by }) => {
        const wish = await readJson(request, CreateBody);
        const seat = await refusedAs(400, () => made(wish, by));
        return json(seat.info(), 201);
      },
    },
  });

  sessionRoute(app, "/v1/sessions/:name", sessions, {
    DELETE: {
      right: "change",
      run: async ({ request, seat }) => {
        readQuery(request, NoQuery);
        await refusedAs(409, () => sessions.delete(seat.name));
        return noContent();
      },
    },
    PATCH: { right: "change", run: settings },
  });
  sessionRoute(app, "/v1/sessions/:name/settings", sessions, {
    POST: { right: "change", run: settings },
  });

  sessionRoute(app, "/v1/sessions/:name/rename", sessions, {
    POST: {
      right: "change",
      run: async ({ request, by, seat }) => {
        const { name } = await readJson(request, RenameBody);
        const renamed = await refusedAs(409, () => sessions.rename(seat.name, name, by));
        return json(renamed.info());
      },
    },
  });

  sessionRoute(app, "/v1/sessions/:name/restart", sessions, {
    POST: {
      right: "change",
      run: async ({ by, seat }) => {
        await refusedAs(409, () => seat.restart(by));
        return noContent();
      },
    },
  });

  sessionRoute(app, "/v1/sessions/:name/new", sessions, {
    POST: {
      right: "change",
      run: async ({ by, seat }) => {
        await refusedAs(409, () => seat.fresh(by));
        // Nothing is put away: the directory of a session without a cage stays as it is.
        return json({ session: seat.name, archived: "" });
      },
    },
  });
  return app;
}

async function settings({ request, by, seat }: SessionAsk): Promise<Response> {
  const {
    accept_caged: _caged,
    accept_caged_from: _cagedFrom,
    accept_files_from: _filesFrom,
    meshes: _meshes,
    fresh_by_agents: _fresh,
    decline_tasks_from: _declined,
    ignore_file_request: _ignored,
    ...patch
  } = await readJson(request, SettingsBody);
  await refusedAs(409, () => seat.configure(patch, by));
  return json(seat.info());
}

/** Everything for who may see everything; its own session for a session's process. */
function list(sessions: MachineSessions, { request, principal }: Ask): Response {
  const { tail } = readQuery(request, ListQuery);
  const lines = tail === undefined || tail === 0 ? undefined : Math.min(tail, tailLines);
  if (principal.kind !== "session") {
    demand(principal, "readAll");
    return json({ sessions: sessions.list(lines), limits: null, credits: [] });
  }
  const own = sessions
    .all()
    .filter((seat) => seat.id === principal.agent && principal.session === onlySession);
  return json({ sessions: own.map((seat) => seat.info(lines)), limits: null, credits: [] });
}
