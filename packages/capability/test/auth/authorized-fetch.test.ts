import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import {
  authorizedFetch,
  type AuthResolver,
  connectionRef,
  OperationError,
  RefreshFailedError,
} from "@lichen/capability";

const canary = "canary-4f1d9a7c2e";
const ref = connectionRef("mail");

interface Seen {
  readonly line: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

async function withServer(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  body: (origin: string, seen: Seen[]) => Promise<void>,
): Promise<void> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    void text(request).then((sent) => {
      seen.push({
        line: `${request.method} ${request.url}`,
        authorization: request.headers.authorization,
        body: sent,
      });
      answer(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await body(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

function rotating(): { resolver: AuthResolver; refreshes: string[] } {
  let count = 0;
  const refreshes: string[] = [];
  const auth = () =>
    ({
      ok: true,
      auth: { kind: "oauth", token: `${canary}-${count}`, version: String(count) },
    }) as const;
  return {
    refreshes,
    resolver: {
      resolve: async () => auth(),
      refresh: async (_ref, version) => {
        refreshes.push(version);
        count++;
        return auth();
      },
    },
  };
}

async function failure(work: Promise<unknown>): Promise<OperationError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof OperationError)) throw new Error("no refusal", { cause: error });
  const all = `${error.message} ${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`;
  expect(all).not.toContain(canary);
  return error;
}

test("[V4] each request carries the auth of that moment; a 401 renews it once and sends once more, body and all", () =>
  withServer(
    (request, response) => {
      response.statusCode = request.headers.authorization?.endsWith("-1") ? 200 : 401;
      response.end("answer");
    },
    async (origin, seen) => {
      const { resolver, refreshes } = rotating();
      const send = authorizedFetch({ resolver, ref, origin, fetch });
      const first = await send(`${origin}/a`, { method: "POST", body: "hello" });
      expect([first.status, await first.text()]).toEqual([200, "answer"]);
      expect(await (await send(new URL("/b", origin))).text()).toBe("answer");
      expect(seen).toEqual([
        { line: "POST /a", authorization: `Bearer ${canary}-0`, body: "hello" },
        { line: "POST /a", authorization: `Bearer ${canary}-1`, body: "hello" },
        { line: "GET /b", authorization: `Bearer ${canary}-1`, body: "" },
      ]);
      expect(refreshes).toEqual(["0"]);
    },
  ));

test("[V4] a server that refuses the renewed auth too is answered with its 401, and a body that is gone is not sent again", () =>
  withServer(
    (_request, response) => {
      response.statusCode = 401;
      response.end("no");
    },
    async (origin, seen) => {
      const { resolver, refreshes } = rotating();
      const send = authorizedFetch({ resolver, ref, origin, fetch });
      const refused = await send(`${origin}/a`);
      expect([refused.status, await refused.text(), seen.length]).toEqual([401, "no", 2]);
      const once = { method: "POST", body: new Blob(["once"]).stream(), duplex: "half" };
      const stream = await send(`${origin}/b`, once);
      expect([stream.status, await stream.text(), seen.length]).toEqual([401, "no", 3]);
      expect(refreshes).toEqual(["0", "1"]);
      const failing = authorizedFetch({
        resolver: {
          ...resolver,
          refresh: async () => ({ ok: false, error: new RefreshFailedError(ref) }),
        },
        ref,
        origin,
        fetch,
      });
      expect((await failure(failing(`${origin}/c`))).code).toBe("refresh_failed");
    },
  ));

test("[V4] neither a request nor a redirect takes the auth to another origin", () =>
  withServer(
    (_request, elsewhere) => {
      elsewhere.end();
    },
    (other, stolen) =>
      withServer(
        (request, response) => {
          const path = request.url ?? "";
          if (path === "/end") return response.end("here");
          const to = path === "/away" ? `${other}/steal` : path === "/loop" ? "/loop" : "/end";
          response.writeHead(path === "/moved" ? 308 : 302, { location: to }).end();
        },
        async (origin) => {
          const send = authorizedFetch({ resolver: rotating().resolver, ref, origin, fetch });
          expect((await failure(send(`${other}/direct`))).code).toBe("other_origin");
          expect((await failure(send("not an address"))).code).toBe("other_origin");
          expect((await failure(send(`${origin}/away`))).message).toMatch(/another origin/);
          expect((await failure(send(`${origin}/loop`))).message).toMatch(/more than 5 times/);
          const post = send(`${origin}/moved`, { method: "POST", body: "x" });
          expect((await failure(post)).code).toBe("redirected");
          expect(await (await send(`${origin}/within`)).text()).toBe("here");
          expect(stolen).toEqual([]);
        },
      ),
  ));

test("[V4] no error holds what was sent, and an abort is an abort", () =>
  withServer(
    () => {},
    async (origin) => {
      const leaky = authorizedFetch({
        resolver: rotating().resolver,
        ref,
        origin,
        fetch: (_url, init) =>
          Promise.reject(new TypeError(`bad ${JSON.stringify(init)} ${canary}`)),
      });
      expect((await failure(leaky(origin))).code).toBe("unreachable");
      const broken = authorizedFetch({
        resolver: {
          resolve: async () => ({
            ok: true,
            auth: { kind: "header", headers: { "x-key": `${canary}\nx` } },
          }),
        },
        ref,
        origin,
        fetch,
      });
      expect((await failure(broken(origin))).code).toBe("auth_not_configured");
      const stop = new AbortController();
      const waiting = authorizedFetch({ resolver: rotating().resolver, ref, origin, fetch })(
        `${origin}/wait`,
        { signal: stop.signal },
      );
      stop.abort(new Error("stopped"));
      await expect(waiting).rejects.toThrow("stopped");
    },
  ));
