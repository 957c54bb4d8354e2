// How the door answers: JSON, refusals by the one table, and the headers that every answer carries.

import { Fault, faultBody, faultStatus } from "@lichen/wire";

/** On every answer: nothing is sniffed, kept, or lent to another site's page. */
export const guardedHeaders = {
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
} as const;

const jsonHeaders = { ...guardedHeaders, "content-type": "application/json" };

export function json(value: unknown, status = 200, headers?: Record<string, string>): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: headers ? { ...jsonHeaders, ...headers } : jsonHeaders,
  });
}

export function noContent(headers?: Record<string, string>): Response {
  return new Response(null, { status: 204, headers: { ...guardedHeaders, ...headers } });
}

/** The answer to a refusal. */
export function refusal(fault: Fault, headers?: Record<string, string>): Response {
  const status = faultStatus[fault.code];
  return json(faultBody(fault), status, { ...statusHeaders(status), ...headers });
}

export function statusHeaders(status: number): Record<string, string> | undefined {
  if (status === 401) return { "www-authenticate": 'Bearer realm="lichen"' };
  if (status === 429 || status === 503) return { "retry-after": "1" };
  return undefined;
}

/** Where bugs are told. `id` is all that the caller gets to know. */
export type BugLog = (bug: { id: string; error: unknown; method: string; path: string }) => void;

/** The answer to whatever was thrown: a refusal as it is, a bug as an id that the log has. */
export function answerThrown(
  error: unknown,
  request: Request,
  log: BugLog,
  refuse: (fault: Fault) => Response = refusal,
): Response {
  if (Fault.is(error) && error.code !== "internal") return refuse(error);
  const id = tellBug(error, request, log);
  return refuse(new Fault("internal", `Something is broken here; the host's log has it as ${id}.`));
}

/** Tells the log of a bug, and answers the id that the log has it by. */
export function tellBug(error: unknown, request: Request, log: BugLog): string {
  const id = `bug_${crypto.randomUUID()}`;
  log({ id, error, method: request.method, path: pathOf(request.url) });
  return id;
}

/** The path of an absolute URL as it came, without its query (which may hold what nobody should log). */
export function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  if (start < 0) return "/";
  const query = url.slice(start).search(/[?#]/);
  return query < 0 ? url.slice(start) : url.slice(start, start + query);
}
