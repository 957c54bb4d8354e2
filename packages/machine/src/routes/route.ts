// Routes of the machine API as data: for each method of a path the right that it asks and what it does; and the form and
// status under which clients know refusals.
//
//   MA18  Who may not do something is refused before a body is read; what they may not see is not there.
//   MA37  What comes out of a cage, as its machine says, changes nothing, whoever's machine that is.
//   MA19  A refusal is `{"error": <sentence>}`, beside it our code of it and whether the same may succeed later.

import {
  demand,
  json,
  nameReader,
  type Principal,
  refuseCaged,
  type Right,
  statusHeaders,
  withoutBody,
} from "@lichen/server/door";
import { Fault, type FaultCode, faultStatus } from "@lichen/wire";
import type { Hono } from "hono";
import { onlySession } from "../harnesses/late-engine.ts";
import { type MachineSessions, unknownSession } from "../sessions/machine-sessions.ts";
import type { Seat } from "../sessions/seat.ts";

/** What the door says of each request. */
export interface DoorEnv {
  Bindings: { principal: Principal };
}

/** One request as a handler gets it. */
export interface Ask {
  readonly request: Request;
  readonly principal: Principal;
  /** The device that asks; undefined for this machine itself. */
  readonly by?: string;
  /** A name of the path, decoded. */
  readonly name: (parameter: string) => string;
}

/** One request about a session that is there and that the caller may see. */
export interface SessionAsk extends Ask {
  readonly seat: Seat;
}

export interface Deed<A extends Ask> {
  /** Left out where what may be seen depends on who asks. */
  readonly right?: Right;
  run(ask: A): Response | Promise<Response>;
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
type Deeds<A extends Ask> = { readonly [M in Method]?: Deed<A> };

/** A path of the machine API that names no session. */
export function machineRoute(app: Hono<DoorEnv>, path: string, deeds: Deeds<Ask>): void {
  app.all(path, (context) =>
    perform(context.req.raw, deeds, (deed) => {
      const ask = askOf(path, context.req.raw, context.env.principal);
      if (deed.right) demand(ask.principal, deed.right);
      return ask;
    }),
  );
}

/** A path with `:name` in it: a session by its name. */
export function sessionRoute(
  app: Hono<DoorEnv>,
  path: string,
  sessions: MachineSessions,
  deeds: Deeds<SessionAsk>,
): void {
  app.all(path, (context) =>
    perform(context.req.raw, deeds, (deed) => {
      const ask = askOf(path, context.req.raw, context.env.principal);
      const name = ask.name("name");
      const seat = sessions.find(name);
      // What a caller may not see is not there.
      if (ask.principal.kind === "session" && !isOwn(ask.principal, seat))
        throw unknownSession(name);
      const target = { agent: seat?.id ?? "", session: onlySession };
      if (deed.right) demand(ask.principal, deed.right, target);
      return { ...ask, seat: seat ?? sessions.get(name) };
    }),
  );
}

/** Whether a session's process asks about its own session. */
function isOwn(
  process: { readonly agent: string; readonly session: string },
  seat?: Seat,
): boolean {
  return seat?.id === process.agent && process.session === onlySession;
}

async function perform<A extends Ask>(
  request: Request,
  deeds: Deeds<A>,
  admit: (deed: Deed<A>) => A,
): Promise<Response> {
  const method = request.method === "HEAD" ? "GET" : request.method;
  const deed = Object.hasOwn(deeds, method) ? deeds[method as Method] : undefined;
  if (!deed) return wrongMethod(request.method, Object.keys(deeds));
  const ask = admit(deed);
  refuseCaged(request);
  const answer = await deed.run(ask);
  return request.method === "HEAD" ? withoutBody(answer) : answer;
}

function askOf(path: string, request: Request, principal: Principal): Ask {
  const by = principal.kind === "owner" ? principal.name : undefined;
  return {
    request,
    principal,
    name: nameReader(path, request.url),
    ...(by === undefined ? {} : { by }),
  };
}

/**
 * Runs what a request asks for; its refusals travel under the one status that clients know for them: all of them, or
 * those of one code.
 */
export async function refusedAs<T>(
  status: 400 | 409,
  work: () => Promise<T>,
  code?: FaultCode,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!Fault.is(error) || error.code === "internal" || error.code.startsWith("unknown_"))
      throw error;
    if (code !== undefined && error.code !== code) throw error;
    throw new Refusal(error, status);
  }
}

/** A refusal under another status than its code's: the one that clients know for it. */
export class Refusal extends Fault {
  readonly status: number;

  constructor(fault: Fault, status: 400 | 409 | 501) {
    super(fault.code, fault.message, { cause: fault, retryable: fault.retryable });
    this.status = status;
  }
}

/** The form in which clients of the machine API read refusals. */
export function refuse(fault: Fault): Response {
  const status = fault instanceof Refusal ? fault.status : faultStatus[fault.code];
  const { code, message, retryable } = fault;
  return json({ error: message, code, retryable }, status, statusHeaders(status));
}

function wrongMethod(method: string, methods: readonly string[]): Response {
  const fault = new Fault(
    "unknown_route",
    `This route does not take ${/^[A-Z]{1,16}$/.test(method) ? method : "that method"}; it takes ${methods.join(", ")}.`,
  );
  const allow = methods.includes("GET") ? ["HEAD", ...methods] : methods;
  return json({ error: fault.message, code: fault.code, retryable: false }, 405, {
    allow: allow.join(", "),
  });
}
