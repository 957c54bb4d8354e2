// Routes as data: a path, and for each method the right it asks and what it does.
//
//   A path that is known answers every other method with 405 and says which it takes.
//   Names in a path are taken from the URL as it was sent and decoded exactly once.

import { Fault, SessionId } from "@lichen/wire";
import type { Agent } from "@lichen/runtime";
import { pathOf, refusal } from "./answer.ts";
import { check } from "./body.ts";
import type { Right } from "./rights.ts";
import type { Streams } from "./streams.ts";

/** One request below an agent, as a handler gets it. */
export interface Ask {
  readonly request: Request;
  readonly agent: Agent;
  /** A name of the path, decoded: `session` is a valid session id. */
  name(parameter: string): string;
  /** Refuses when the caller may not do this; for rights that only the body tells. */
  demand(right: Right): void;
  /** Tells the log of a bug that the answer can no longer show. */
  report(error: unknown): void;
  readonly streams: Streams;
}

export interface Deed {
  /** The caller needs one of these to come in. */
  readonly rights: readonly [Right, ...Right[]];
  run(ask: Ask): Response | Promise<Response>;
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface Route {
  /** Below the agent, with `:name` for a name. */
  readonly path: string;
  readonly methods: Partial<Record<Method, Deed>>;
}

/** What a route does for a method; HEAD is GET without the body. */
export function deedOf(route: Route, method: string): Deed | undefined {
  const own = method === "HEAD" ? "GET" : method;
  return Object.hasOwn(route.methods, own) ? route.methods[own as Method] : undefined;
}

export function wrongMethod(method: string, methods: readonly string[]): Response {
  const allowed = methods.includes("GET") ? ["HEAD", ...methods] : methods;
  const fault = new Fault(
    "unknown_route",
    `This route does not take ${/^[A-Z]{1,16}$/.test(method) ? method : "that method"}; it takes ${methods.join(", ")}.`,
  );
  const answer = refusal(fault, { allow: allowed.join(", ") });
  return new Response(answer.body, { status: 405, headers: answer.headers });
}

/** The body of a HEAD request's answer is never begun. */
export function withoutBody(answer: Response): Response {
  answer.body?.cancel().catch(() => {});
  return new Response(null, { status: answer.status, headers: answer.headers });
}

/** Reads a name of a path by its place counted from the end, so that it does not matter where routes are mounted. */
export function nameReader(path: string, url: string): (parameter: string) => string {
  const pattern = path.split("/");
  return (parameter) => {
    const fromEnd = pattern.length - pattern.indexOf(`:${parameter}`);
    const raw = pathOf(url).split("/").at(-fromEnd) ?? "";
    let name: string;
    try {
      name = decodeURIComponent(raw);
    } catch (cause) {
      throw new Fault("invalid", `${parameter}: not percent-encoded UTF-8`, { cause });
    }
    return parameter === "session" ? check(SessionId, name, "session") : name;
  };
}
