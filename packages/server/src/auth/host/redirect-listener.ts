// Where a browser comes back to after a sign-in: a door of this computer on 127.0.0.1, open for one answer.
//
//   It takes one path, under its own name, and says nothing of what it was given. What is not the awaited answer is
//   refused and changes nothing.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Fault } from "@lichen/wire";
import type { Redirects } from "../sign-in.ts";

const path = "/callback";

/** Listens on `port`, or on any one for 0; undefined where that port is another's. */
export async function listenForRedirect(port: number): Promise<Redirects | undefined> {
  let accept: (parameters: URLSearchParams) => boolean = () => false;
  let own = "";
  const server = createServer((request, response) => {
    const parameters = parametersOf(request, own);
    answer(response, parameters !== undefined && accept(parameters));
  });
  server.maxConnections = 32;
  const isListening = await new Promise<boolean>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE" || error.code === "EACCES") resolve(false);
      else reject(new Fault("unavailable", "This computer gives no port to sign in with."));
    });
    server.listen({ host: "127.0.0.1", port, exclusive: true }, () => resolve(true));
  });
  if (!isListening) return undefined;
  const address = server.address();
  own = `127.0.0.1:${typeof address === "object" && address ? address.port : port}`;
  return {
    uri: `http://${own}${path}`,
    next(isAwaited, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<URLSearchParams>();
      accept = (parameters) => {
        if (!isAwaited(parameters)) return false;
        accept = () => false;
        resolve(parameters);
        return true;
      };
      const stop = (): void => reject(signal.reason);
      if (signal.aborted) stop();
      signal.addEventListener("abort", stop, { once: true });
      return promise.finally(() => signal.removeEventListener("abort", stop));
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      // The browser may not have read its page yet; a second is enough for that.
      const late = setTimeout(() => server.closeAllConnections(), 1_000);
      await closed;
      clearTimeout(late);
    },
  };
}

/** The parameters of a request to our one path; undefined for any other, also for one under another name. */
function parametersOf(request: IncomingMessage, own: string): URLSearchParams | undefined {
  if (request.method !== "GET" || request.headers.host !== own) return undefined;
  const url = URL.parse(request.url ?? "", `http://${own}`);
  return url?.host === own && url.pathname === path ? url.searchParams : undefined;
}

function answer(response: ServerResponse, isTaken: boolean): void {
  const words = isTaken
    ? "This window has done its part. Close it and go back to where you began."
    : "There is nothing here.";
  response.writeHead(isTaken ? 200 : 404, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    connection: "close",
  });
  response.end(`<!doctype html><meta charset="utf-8"><title>Lichen</title><p>${words}</p>\n`);
}
