// The fetch of one connection. It holds a resolver and no credential.
//
//   Auth is asked for at each request; a 401 renews it once and asks once more. Nothing goes to another origin.
//   An answer is bounded, and what was sent as a credential does not come back in it.

import type { Auth, AuthResolver, AuthResult } from "../../auth/resolver.ts";
import { OperationError } from "../../failure.ts";

export interface GuardedFetchOptions {
  readonly id: string;
  readonly url: string;
  readonly resolver: AuthResolver;
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>;
  /** The longest message of the server, in bytes. */
  readonly limitBytes: number;
  /** Told why an answer was cut off. */
  readonly onCut: (reason: OperationError) => void;
}

export function guardedFetch(options: GuardedFetchOptions) {
  const { id, resolver, limitBytes, onCut } = options;
  const { origin } = new URL(options.url);

  return async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    if (new URL(url).origin !== origin)
      throw new OperationError(
        "other_origin",
        `${origin} sends to another address, which is not followed.`,
      );
    const signal = init.signal ?? new AbortController().signal;
    const send = (auth: Auth) =>
      options.fetch(url, { ...init, headers: withAuth(init.headers, auth) });
    let auth = authOf(await resolver.resolve({ id }, signal));
    let response = await send(auth);
    if (response.status === 401 && auth.kind === "oauth" && resolver.refresh) {
      await response.body?.cancel();
      auth = authOf(await resolver.refresh({ id }, auth.version, signal));
      response = await send(auth);
    }
    if (!response.body) return response;
    const streams = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    const cut = (controller: TransformStreamDefaultController<unknown>) => {
      const reason = new OperationError(
        "too_large",
        `The server answered with more than ${limitBytes} bytes at once, which is not read: ask it for less.`,
      );
      onCut(reason);
      controller.error(reason);
    };
    const body = response.body
      .pipeThrough(bounded(limitBytes, streams, cut))
      .pipeThrough(without(secretsOf(auth)));
    const { status, statusText, headers } = response;
    return new Response(body, { status, statusText, headers });
  };
}

function authOf(result: AuthResult): Auth {
  if (result.ok) return result.auth;
  throw new OperationError(result.error.code, result.error.message);
}

function withAuth(given: RequestInit["headers"], auth: Auth): Headers {
  const headers = new Headers(given);
  if (auth.kind === "header")
    for (const [name, value] of Object.entries(auth.headers)) headers.set(name, value);
  if (auth.kind === "oauth") headers.set("authorization", `Bearer ${auth.token}`);
  return headers;
}

/** What nothing may repeat: the values as they were sent, and as JSON may write them. */
function secretsOf(auth: Auth): string[] {
  if (auth.kind === "none") return [];
  const values = auth.kind === "oauth" ? [auth.token] : Object.values(auth.headers);
  return values
    .flatMap((value) => [value, value.split(" ").at(-1) ?? ""])
    .flatMap((value) => [value, value.replaceAll("/", "\\/")])
    .filter((value) => value.length >= 8)
    .toSorted((a, b) => b.length - a.length);
}

/** Lets through what is short enough: the whole answer, or each event of a stream of them. */
function bounded(
  limit: number,
  streams: boolean,
  cut: (controller: TransformStreamDefaultController<unknown>) => void,
): TransformStream<Uint8Array, Uint8Array> {
  let length = 0;
  let lineIsEmpty = true;
  return new TransformStream({
    transform(chunk, controller) {
      length += chunk.length;
      if (streams)
        // A blank line ends an event.
        for (const [at, byte] of chunk.entries())
          if (byte === 10) {
            if (lineIsEmpty) length = chunk.length - at - 1;
            lineIsEmpty = true;
          } else if (byte !== 13) lineIsEmpty = false;
      if (length > limit) cut(controller);
      else controller.enqueue(chunk);
    },
  });
}

/** Text without some of its parts, also where one comes in pieces. */
function without(secrets: readonly string[]): TransformStream<Uint8Array, Uint8Array> {
  if (secrets.length === 0) return new TransformStream();
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = "";
  const clean = (text: string) =>
    secrets.reduce((cleaned, secret) => cleaned.replaceAll(secret, "[redacted]"), text);
  return new TransformStream({
    transform(chunk, controller) {
      const text = clean(rest + decoder.decode(chunk, { stream: true }));
      const kept = Math.max(...secrets.map((secret) => begun(text, secret)));
      rest = kept === 0 ? "" : text.slice(-kept);
      controller.enqueue(encoder.encode(kept === 0 ? text : text.slice(0, -kept)));
    },
    flush(controller) {
      controller.enqueue(encoder.encode(clean(rest + decoder.decode())));
    },
  });
}

/** How many of the last characters of `text` may be the beginning of `secret`. */
function begun(text: string, secret: string): number {
  for (let length = Math.min(secret.length - 1, text.length); length > 0; length--)
    if (text.endsWith(secret.slice(0, length))) return length;
  return 0;
}
