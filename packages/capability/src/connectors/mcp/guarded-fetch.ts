// The fetch of one connection. It holds a resolver and no credential.
//
//   Auth is asked for at each request; a 401 renews it once and asks once more. Nothing goes to another origin, not by a
//   redirect either: none is followed here, whatever SDK is handed in.
//   An answer is bounded, and what was sent as a credential does not come back in it.

import { unreachable, withAuth } from "../../auth/outgoing.ts";
import { withRefreshRetry } from "../../auth/refresh-retry.ts";
import type { Auth, AuthResolver } from "../../auth/resolver.ts";
import { OperationError } from "../../failure.ts";
import { answerBounds, JsonScan } from "../json-bounds.ts";
import { Redactor } from "../../secrets/redactor.ts";
import { secretsOf } from "../../secrets/secrets-of.ts";

export interface GuardedFetchOptions {
  readonly id: string;
  readonly url: string;
  readonly resolver: AuthResolver;
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>;
  /** The longest message of the server, in bytes. */
  readonly limitBytes: number;
  /** Told of what a request was authorised with, before it is sent: nothing of it may come back. */
  readonly onAuth: (auth: Auth) => void;
  /** Told why an answer was cut off. */
  readonly onCut: (reason: OperationError) => void;
}

export function guardedFetch({
  id,
  url,
  resolver,
  fetch,
  limitBytes,
  onAuth,
  onCut,
}: GuardedFetchOptions) {
  const { origin, host } = new URL(url);

  return async (target: string | URL, init: RequestInit = {}): Promise<Response> => {
    if (new URL(target).origin !== origin)
      throw new OperationError(
        "other_origin",
        `${host} sends to another place, which is not followed.`,
      );
    const signal = init.signal ?? new AbortController().signal;
    let used: Auth = { kind: "none" };
    let refused: Response | undefined;
    const sent = await withRefreshRetry(
      resolver,
      { id },
      async (auth) => {
        await refused?.body?.cancel();
        used = auth;
        onAuth(auth);
        const response = await send(target, init, auth);
        if (response.status === 401) refused = response;
        return response;
      },
      { signal, isExpired: ({ status }) => status === 401 },
    );
    if (!sent.ok) throw new OperationError(sent.error.code, sent.error.message);
    return guarded(sent.value, used);
  };

  async function send(target: string | URL, init: RequestInit, auth: Auth): Promise<Response> {
    const headers = withAuth(init.headers, auth, id);
    try {
      // A redirect is the SDK's to follow or to refuse, and comes here again as a request of its own.
      return await fetch(target, { ...init, headers, redirect: "manual" });
    } catch (error) {
      init.signal?.throwIfAborted();
      throw unreachable(host, error);
    }
  }

  function guarded(response: Response, auth: Auth): Response {
    const { status } = response;
    const redact = new Redactor(secretsOf(auth));
    const statusText = redact.text(response.statusText);
    const headers = new Headers(
      Array.from(response.headers, ([name, value]): [string, string] => [name, redact.text(value)]),
    );
    if (!response.body) return new Response(null, { status, statusText, headers });
    const type = headers.get("content-type") ?? "";
    const streams = type.startsWith("text/event-stream");
    const cut = (controller: TransformStreamDefaultController<unknown>, flaw?: string) => {
      const reason = new OperationError(
        "too_large",
        flaw === undefined
          ? `${host} answered with more than ${limitBytes} bytes at once, which is not read: ask it for less.`
          : `${host} answered with what is not read: ${flaw}. Ask it for less.`,
      );
      onCut(reason);
      controller.error(reason);
    };
    const body = response.body
      .pipeThrough(bounded(limitBytes, streams, streams || type.includes("json"), cut))
      .pipeThrough(without(redact));
    return new Response(body, { status, statusText, headers });
  }
}

/** Lets through what is short and shallow enough: the whole answer, or each event of a stream of them. */
function bounded(
  limit: number,
  streams: boolean,
  isJson: boolean,
  cut: (controller: TransformStreamDefaultController<unknown>, flaw?: string) => void,
): TransformStream<Uint8Array, Uint8Array> {
  let length = 0;
  let lineIsEmpty = true;
  let scan = new JsonScan(answerBounds);
  return new TransformStream({
    transform(chunk, controller) {
      length += chunk.length;
      let from = 0;
      let flaw: string | undefined;
      if (streams)
        // A blank line ends an event.
        for (let at = 0; at < chunk.length; at++)
          if (chunk[at] === 10) {
            flaw ??= scan.take(chunk.subarray(from, at));
            scan.endLine();
            from = at + 1;
            if (lineIsEmpty) {
              length = chunk.length - from;
              scan = new JsonScan(answerBounds);
            }
            lineIsEmpty = true;
          } else if (chunk[at] !== 13) lineIsEmpty = false;
      if (isJson) flaw ??= scan.take(chunk.subarray(from));
      if (length > limit) cut(controller);
      else if (flaw !== undefined) cut(controller, flaw);
      else controller.enqueue(chunk);
    },
  });
}

/** Text without secrets, also where one comes in pieces: as much of its end is kept back as could be the beginning of one. */
function without(redact: Redactor): TransformStream<Uint8Array, Uint8Array> {
  if (redact.isIdle) return new TransformStream();
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = "";
  return new TransformStream({
    transform(chunk, controller) {
      const text = redact.text(rest + decoder.decode(chunk, { stream: true }));
      const kept = redact.begun(text);
      rest = kept === 0 ? "" : text.slice(-kept);
      controller.enqueue(encoder.encode(kept === 0 ? text : text.slice(0, -kept)));
    },
    flush(controller) {
      controller.enqueue(encoder.encode(redact.text(rest + decoder.decode())));
    },
  });
}
