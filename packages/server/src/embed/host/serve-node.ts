// A Fetch handler behind Node's own server.
//
//   Whatever a handler does, the request ends: an error before the headers is a 500, one after them cuts the
//   connection, so that a reader sees a truncated answer and no false end.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ChannelHandler } from "../router.ts";

export function nodeListener(
  handler: ChannelHandler,
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  return (incoming, outgoing) => {
    void answer(handler, incoming, outgoing).catch(() => {
      if (outgoing.headersSent || outgoing.destroyed) outgoing.destroy();
      else outgoing.writeHead(500, { "content-type": "text/plain" }).end("internal error\n");
    });
  };
}

async function answer(
  handler: ChannelHandler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  const response = await handler(toRequest(incoming, gone.signal));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (!response.body || incoming.method === "HEAD") {
    await response.body?.cancel();
    outgoing.end();
    return;
  }
  outgoing.flushHeaders();
  // The pipe takes the next chunk when the socket drained, and cancels the body when the reader is gone.
  // Node's stream types and the Workers' global ones name the same objects; neither accepts the other's.
  const body = Readable.fromWeb(response.body as never, { highWaterMark: 1 });
  await pipeline(body, outgoing);
}

function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = "GET", url = "/", headers } = incoming;
  const hasBody = method !== "GET" && method !== "HEAD";
  const given = new Headers();
  for (const [name, value] of Object.entries(headers))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined) given.append(name, one);
  return new Request(new URL(url, `http://${headers.host ?? "localhost"}`), {
    method,
    headers: given,
    signal,
    ...(hasBody ? { body: Readable.toWeb(incoming) as never, duplex: "half" } : {}),
  });
}

export interface NodeServer {
  /** The port, once it listens; rejects where it cannot. */
  listening: Promise<number>;
  close(): Promise<void>;
  closeAllConnections(): void;
}

export function serveNode(
  handler: ChannelHandler,
  options: { port: number; host?: string },
): NodeServer {
  const server = createServer(nodeListener(handler));
  const { promise: listening, resolve, reject } = Promise.withResolvers<number>();
  server.once("error", reject);
  // Loopback unless told otherwise: nothing here asks who is calling.
  server.listen(options.port, options.host ?? "127.0.0.1", () =>
    resolve((server.address() as AddressInfo).port),
  );
  return {
    listening,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeIdleConnections();
      }),
    closeAllConnections: () => server.closeAllConnections(),
  };
}
