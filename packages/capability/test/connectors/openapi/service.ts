// A service on loopback that remembers what it was sent and answers as it is told, and a call's context.

import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Auth, AuthResolver, CallContext, Image, JsonObject } from "@lichen/capability";

export interface Received {
  readonly method: string;
  /** As it stood on the wire. */
  readonly target: string;
  readonly headers: IncomingMessage["headers"];
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

export interface Reply {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
  /** Never answers. */
  readonly hangs?: true;
}

export interface Service extends AsyncDisposable {
  readonly origin: string;
  readonly received: Received[];
  /** Settles with the next request. */
  next(): Promise<Received>;
}

export async function openService(reply: (received: Received) => Reply): Promise<Service> {
  const received: Received[] = [];
  const waiting: ((received: Received) => void)[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      const one = {
        method: request.method ?? "",
        target: request.url ?? "",
        headers: request.headers,
        rawHeaders: request.rawHeaders,
        body: Buffer.concat(parts),
      };
      received.push(one);
      for (const tell of waiting.splice(0)) tell(one);
      const { status = 200, headers = {}, body, hangs } = reply(one);
      if (hangs) return;
      response.writeHead(status, headers).end(body);
    })();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    received,
    next: () => new Promise((tell) => waiting.push(tell)),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

export function json(value: unknown, status = 200): Reply {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

export interface Stage {
  readonly context: CallContext;
  readonly images: Image[];
  readonly displayed: JsonObject[];
}

/** What a call is made in; `resolver` is asked for `id`. */
export function stage(
  resolver: AuthResolver,
  id: string,
  signal = new AbortController().signal,
): Stage {
  const images: Image[] = [];
  const displayed: JsonObject[] = [];
  return {
    images,
    displayed,
    context: {
      signal,
      resolve: () => resolver.resolve({ id }, signal),
      image(image) {
        images.push(image);
        return { image: images.length, mediaType: image.mediaType, bytes: image.bytes.length };
      },
      progress: () => undefined,
      display: (data) => void displayed.push(data),
    },
  };
}

/** A resolver that answers `auth`, and counts how often it is asked. */
export function resolverOf(auth: () => Auth): AuthResolver & { readonly asked: () => number } {
  let asked = 0;
  return {
    asked: () => asked,
    resolve: () => {
      asked++;
      return Promise.resolve({ ok: true, auth: auth() });
    },
  };
}

export const noAuth = (): AuthResolver & { readonly asked: () => number } =>
  resolverOf(() => ({ kind: "none" }));
