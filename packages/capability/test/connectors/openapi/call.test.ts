// Calls of a service on loopback: where they go, what they carry, what comes back, and what never does.

import type { Auth, AuthResolver, Json, JsonObject } from "@lichen/capability";
import { createOpenApiConnector } from "@lichen/capability/connectors";
import { expect, test } from "vitest";
import { bearer, connect, documentOf, errorOf, garden, recording, withBody } from "./garden.ts";
import {
  json,
  noAuth,
  openService,
  type Received,
  type Reply,
  resolverOf,
  stage,
} from "./service.ts";

const canary = "canary-5f1c9e2b7a";

test("[M47] a body goes as JSON where it may, else as a form, text or bytes", async () => {
  await using service = await openService(() => json({}));
  const send = async (content: JsonObject, body: Json) => {
    const { call } = connect(service.origin, { spec: withBody(content) });
    await call("call", { body });
    const { headers, body: sent } = service.received.at(-1)!;
    return { type: headers["content-type"], sent };
  };
  const both = { "application/x-www-form-urlencoded": {}, "application/vnd.bed+json": {} };
  const asJson = await send(both, { a: [1, "ü"] });
  expect(asJson.type).toBe("application/vnd.bed+json");
  expect(JSON.parse(asJson.sent.toString())).toEqual({ a: [1, "ü"] });

  const form = await send(
    { "application/x-www-form-urlencoded": {} },
    { a: "x&y=z", b: [1, 2], c: { d: true } },
  );
  expect(form.type).toBe("application/x-www-form-urlencoded");
  expect([...new URLSearchParams(form.sent.toString())]).toEqual([
    ["a", "x&y=z"],
    ["b", "1"],
    ["b", "2"],
    ["c", '{"d":true}'],
  ]);

  expect(await send({ "text/markdown": {} }, "# ü")).toEqual({
    type: "text/markdown",
    sent: Buffer.from("# ü"),
  });
  const bytes = Buffer.from([0, 255, 10, 13]);
  expect(
    await send({ "application/octet-stream": {} }, { base64: bytes.toString("base64") }),
  ).toEqual({
    type: "application/octet-stream",
    sent: bytes,
  });
  await expect(send({ "application/octet-stream": {} }, { base64: "no*base64" })).rejects.toThrow(
    "no base64",
  );
});

test("[M47] a multipart form carries text, files with their names, and objects as JSON", async () => {
  await using service = await openService(() => json({}));
  const schema = {
    type: "object",
    properties: {
      photo: { type: "string", format: "binary" },
      title: { type: "string" },
      place: { type: "object" },
    },
  };
  const { call } = connect(service.origin, {
    spec: withBody({ "multipart/form-data": { schema } }),
  });
  const bytes = Buffer.from([0, 1, 2, 255]);
  await call("call", {
    body: {
      photo: {
        base64: bytes.toString("base64"),
        filename: 'a"\r\nx: y.png',
        mediaType: "image/png",
      },
      title: "two\nlines",
      place: { bed: 1 },
    },
  });
  const { headers, body } = service.received[0]!;
  const form = await new Response(new Uint8Array(body), {
    headers: { "content-type": headers["content-type"]! },
  }).formData();
  const photo = form.get("photo") as File;
  expect(photo.type).toBe("image/png");
  expect(Buffer.from(await photo.arrayBuffer())).toEqual(bytes);
  expect((form.get("title") as string).replaceAll("\r\n", "\n")).toBe("two\nlines");
  expect(JSON.parse(await (form.get("place") as File).text())).toEqual({ bed: 1 });
  expect([...form.keys()]).toEqual(["photo", "title", "place"]);
});

test("[M48] a document leads to no other origin than the owner's: not by its servers, not by those of one operation", async () => {
  await using service = await openService(() => json({ here: true }));
  const evil = { ...garden, servers: [{ url: "https://evil.example/v1" }] };
  const { connector, call } = connect(service.origin, { spec: evil });
  const names = (await connector.operations(new AbortController().signal)).map(({ name }) => name);
  expect(names).toEqual(["list", "look", "plant", "near"]);
  await call("list");
  await call("near");
  expect((await errorOf(call("far"))).message).toContain("server of its own on another origin");
  expect(service.received.map(({ target }) => target)).toEqual(["/beds", "/v2/near"]);
});

test("[M48] a document read from an address may name servers on its own origin only; others its owner names", async () => {
  let servers: JsonObject[] = [{ url: "https://evil.example" }];
  await using service = await openService(({ target }) =>
    target === "/openapi.json" ? json({ ...garden, servers }) : json({ here: true }),
  );
  const spec = `${service.origin}/openapi.json`;
  const open = (config: JsonObject) =>
    createOpenApiConnector({
      id: "garden",
      namespace: "garden",
      config: { spec, ...config },
      authKind: "none",
      resolver: noAuth(),
    });
  const { context } = stage(noAuth(), "garden");
  expect(await errorOf(open({}).call("list", {}, context))).toMatchObject({
    code: "bad_document",
    message: expect.stringMatching(/names a server on https:\/\/evil\.example.*baseUrl/),
  });
  servers = [{ url: "/{version}/", variables: { version: { default: "v3" } } }];
  await open({}).call("list", {}, context);
  await open({ baseUrl: `${service.origin}/mine/` }).call("list", {}, context);
  expect(service.received.map(({ target }) => target)).toEqual([
    "/openapi.json",
    "/openapi.json",
    "/v3/beds",
    "/openapi.json",
    "/mine/beds",
  ]);
});

test("[M48] a document alone, in the config or in a file, does not say where a credential goes", async () => {
  const resolver = resolverOf(() => bearer(canary));
  const made = (config: JsonObject, authKind: "none" | "header" | "oauth") =>
    createOpenApiConnector({
      ...{ id: "garden", namespace: "garden", authKind, resolver },
      config,
      readSpec: async () =>
        JSON.stringify({ ...garden, servers: [{ url: "https://evil.example" }] }),
    });
  for (const authKind of ["header", "oauth"] as const)
    for (const spec of ["garden.json", garden]) {
      expect(() => made({ spec }, authKind)).toThrow('need "baseUrl"');
      made({ spec, baseUrl: "https://garden.example" }, authKind);
    }
  made({ spec: "https://garden.example/openapi.json" }, "oauth");
  made({ spec: "garden.json" }, "none");
  expect(resolver.asked()).toBe(0);
});

test("[M49] a redirect to another origin is not followed, and nothing of the auth reaches it", async () => {
  await using other = await openService(() => json({ stolen: true }));
  await using service = await openService(() => ({
    status: 302,
    headers: { location: `${other.origin}/beds` },
  }));
  const resolver = resolverOf(() => bearer(canary));
  const { call } = connect(service.origin, { authKind: "header", resolver });
  expect(await errorOf(call("list"))).toMatchObject({
    code: "redirected",
    message: expect.stringContaining(other.origin),
  });
  expect(other.received).toEqual([]);
});

test("[M49] a redirect on the same origin is followed for what changes nothing, five times at most", async () => {
  await using service = await openService(({ target, method }) => {
    if (method === "POST") return { status: 307, headers: { location: "/other" } };
    const step = Number(target.split("?step=")[1] ?? 0);
    return step === 5
      ? json({ there: true })
      : { status: 302, headers: { location: `/beds?step=${step + 1}` } };
  });
  const { call } = connect(service.origin);
  expect(await call("list")).toEqual({ there: true });
  expect((await errorOf(call("plant"))).code).toBe("redirected");
  expect(service.received.filter(({ method }) => method === "POST")).toHaveLength(1);

  await using endless = await openService(() => ({ status: 301, headers: { location: "/beds" } }));
  expect((await errorOf(connect(endless.origin).call("list"))).message).toContain(
    "more than 5 times",
  );
  expect(endless.received).toHaveLength(6);
});

test("[M50] auth is asked for at each call, so that a rotated credential counts from the next call on", async () => {
  await using service = await openService(() => json({}));
  let token = "one-of-many";
  const resolver = resolverOf(() => bearer(token));
  const { call } = connect(service.origin, { authKind: "header", resolver });
  await call("list");
  token = "two-of-many";
  await call("list");
  expect(service.received.map(({ headers }) => headers.authorization)).toEqual([
    "Bearer one-of-many",
    "Bearer two-of-many",
  ]);
});

test("[M50] auth of another kind than the owner named, or none, sends nothing", async () => {
  await using service = await openService(() => json({}));
  const given: Auth[] = [{ kind: "none" }, { kind: "oauth", token: canary, version: "1" }];
  for (const auth of given) {
    const { call } = connect(service.origin, {
      authKind: "header",
      resolver: resolverOf(() => auth),
    });
    expect((await errorOf(call("list"))).code).toBe("auth_not_configured");
  }
  const failing: AuthResolver = {
    resolve: () =>
      Promise.resolve({ ok: false, error: { code: "token_expired", message: "Sign in again." } }),
  };
  const { call } = connect(service.origin, { authKind: "oauth", resolver: failing });
  expect(await errorOf(call("list"))).toMatchObject({
    code: "token_expired",
    message: "Sign in again.",
  });
  expect(service.received).toEqual([]);
});

test("[M50] a token that is refused is renewed once, and the call made once more", async () => {
  await using service = await openService(({ headers }) =>
    headers.authorization === "Bearer fresh-token"
      ? json({ ok: true })
      : json({ message: "expired" }, 401),
  );
  const renewed: string[] = [];
  const renewing = (token: string): AuthResolver => ({
    resolve: () =>
      Promise.resolve({ ok: true, auth: { kind: "oauth", token: "stale-token", version: "v1" } }),
    refresh: (_, version) => {
      renewed.push(version);
      return Promise.resolve({ ok: true, auth: { kind: "oauth", token, version: "v2" } });
    },
  });
  const good = connect(service.origin, { authKind: "oauth", resolver: renewing("fresh-token") });
  expect(await good.call("plant")).toEqual({ ok: true });
  const bad = connect(service.origin, { authKind: "oauth", resolver: renewing("stale-too") });
  expect((await errorOf(bad.call("list"))).code).toBe("http_401");
  expect(renewed).toEqual(["v1", "v1"]);
  expect(service.received).toHaveLength(4);
});

test("[M51] no secret comes back: not in an error, not in an answer of a server that repeats what it was sent", async () => {
  const echo = ({ headers }: Received, status: number, type: string): Reply => ({
    status,
    headers: { "content-type": type },
    body: JSON.stringify({ message: `you said ${headers.authorization}`, headers }),
  });
  const said: string[] = [];
  for (const status of [200, 400, 401, 403, 500])
    for (const type of ["application/json", "text/plain", "application/x-thing", ""]) {
      await using service = await openService((received) => echo(received, status, type));
      for (const secret of [canary, `basic:${canary}"+/=`]) {
        const resolver = resolverOf(() => bearer(secret));
        const { call, connector } = connect(service.origin, { authKind: "header", resolver });
        const answer = await call("list").catch((error: unknown) => error);
        expect(service.received.at(-1)!.headers.authorization).toContain(secret);
        said.push(
          answer instanceof Error
            ? `${answer.stack} ${JSON.stringify(answer)} ${String(answer.cause)}`
            : JSON.stringify(answer),
        );
        const base64 = (answer as { base64?: string }).base64;
        if (base64 !== undefined) said.push(atob(base64));
        said.push(JSON.stringify(Object.entries(connector)));
      }
    }
  expect(said.join("\n")).not.toContain(canary);
  expect(said.join("\n")).toContain("you said [redacted]");
});

test("[M51] auth that cannot stand in a header is named without its value", async () => {
  await using service = await openService(() => json({}));
  const resolver = resolverOf(() => bearer(`${canary}\r\nx: y`));
  const error = await errorOf(
    connect(service.origin, { authKind: "header", resolver }).call("list"),
  );
  expect(error.code).toBe("auth_not_configured");
  expect(`${JSON.stringify(error)} ${error.message}`).not.toContain(canary);
  expect(service.received).toEqual([]);
});

test("[M51] a parameter cannot stand in for the auth", async () => {
  const parameters = ["authorization", "X-Api-Key"].map((name) => ({
    name,
    in: "header",
    schema: { type: "string" },
  }));
  await using service = await openService(() => json({}));
  const { call } = connect(service.origin, {
    spec: documentOf({ paths: { "/beds": { get: { operationId: "list", parameters } } } }),
    authKind: "header",
    resolver: resolverOf(() => ({ kind: "header", headers: { "x-api-key": "the-owner's-own" } })),
  });
  await call("list", { "X-Api-Key": "another" });
  expect(service.received[0]!.headers["x-api-key"]).toBe("the-owner's-own");
  expect((await errorOf(call("list", { authorization: "Bearer x" }))).message).toContain(
    '"authorization" is not known',
  );
});

test("[M51] a cookie of a parameter cannot stand in for the auth's, and others go along", async () => {
  const parameters = ["session", "lang"].map((name) => ({
    name,
    in: "cookie",
    schema: { type: "string" },
  }));
  await using service = await openService(() => json({}));
  const { call } = connect(service.origin, {
    spec: documentOf({ paths: { "/beds": { get: { operationId: "list", parameters } } } }),
    authKind: "header",
    resolver: resolverOf(() => ({ kind: "header", headers: { cookie: "session=own; b=1" } })),
  });
  await call("list", { session: "another", lang: "de" });
  expect(service.received[0]!.headers.cookie).toBe("session=own; b=1; lang=de");
});

test("[M52] JSON comes back parsed, text as text, nothing as nothing, images beside the program, other bytes as base64", async () => {
  let reply: Reply = {};
  await using service = await openService(() => reply);
  const { connector } = connect(service.origin);
  const { context, images } = stage(noAuth(), "garden");
  const answer = (headers: Record<string, string>, body?: string | Uint8Array, status = 200) => {
    reply = { status, headers, ...(body !== undefined && { body }) };
    return connector.call("list", {}, context);
  };
  expect(
    await answer({ "content-type": "application/problem+json; charset=utf-8" }, "[1]"),
  ).toEqual([1]);
  expect(await answer({ "content-type": "text/csv" }, "a,ü")).toBe("a,ü");
  expect(await answer({}, undefined, 204)).toBeUndefined();
  expect(await answer({ "content-type": "image/png" }, Uint8Array.of(137, 80))).toEqual({
    image: 1,
    mediaType: "image/png",
    bytes: 2,
  });
  expect(images).toEqual([{ mediaType: "image/png", bytes: Uint8Array.of(137, 80) }]);
  expect(await answer({ "content-type": "application/zip" }, Uint8Array.of(0, 255))).toEqual({
    mediaType: "application/zip",
    bytes: 2,
    base64: "AP8=",
  });
  expect((await errorOf(answer({ "content-type": "application/json" }, "{"))).code).toBe(
    "bad_answer",
  );
  reply = { headers: { etag: '"7"' } };
  expect(await connector.call("look", {}, context)).toEqual({
    status: 200,
    headers: { etag: '"7"' },
  });
});

test("[M52] an answer beyond 8 MiB is not read to its end", async () => {
  const chunk = new Uint8Array(1_024 * 1_024);
  let pulled = 0;
  const body = () =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled++;
        controller.enqueue(chunk);
      },
    });
  const { connector } = recording(garden, {
    fetch: () =>
      Promise.resolve(new Response(body(), { headers: { "content-type": "text/plain" } })),
  });
  const error = await errorOf(connector.call("list", {}, stage(noAuth(), "garden").context));
  expect(error).toMatchObject({
    code: "too_large",
    message: expect.stringContaining("Ask for less"),
  });
  expect(pulled).toBeLessThan(12);
});

test("[M52] JSON that is nested too deeply, or of too many values, is not parsed, and its call is told as one that ran", async () => {
  let body = "";
  await using service = await openService(() => ({
    headers: { "content-type": "application/json" },
    body,
  }));
  const { call } = connect(service.origin);
  const names = Array.from({ length: 10_001 }, (_, at) => `"n${at}":1`).join();
  for (const given of ["[".repeat(4_000_000), `[${"[],".repeat(1_000_000)}[]]`, `{${names}}`]) {
    body = given;
    expect(await errorOf(call("list"))).toMatchObject({
      code: "too_large",
      message: expect.stringContaining("check what it did before you repeat it"),
    });
  }
  const manySmall = Array.from({ length: 9_000 }, () => '{"a":":,","b":[]}').join();
  body = `[${manySmall},${"[".repeat(63)}${"]".repeat(63)}]`;
  expect(await call("list")).toEqual(JSON.parse(body));
});

test("[M53] a refusal is an error with its status as code and the server's own words, in short", async () => {
  let reply: Reply = {};
  await using service = await openService(() => reply);
  const { call } = connect(service.origin);
  const refuse = (status: number, body: string, type = "application/json") => {
    reply = { status, headers: { "content-type": type }, body };
    return errorOf(call("list"));
  };
  expect(await refuse(404, '{"message":"No such bed"}')).toMatchObject({
    code: "http_404",
    message: expect.stringMatching(/^127\.0\.0\.1:\d+ answered 404: No such bed$/),
  });
  expect(
    (await refuse(422, '{"message":"Invalid","errors":[{"field":"name"}]}')).message,
  ).toContain('Invalid [{"field":"name"}]');
  expect((await refuse(400, '{"error":{"message":"deep"}}')).message).toContain("deep");
  expect((await refuse(400, '{"title":"Bad","detail":"worse"}')).message).toContain("worse");
  const long = await refuse(500, `line\u001b[31m\n${"x".repeat(10_000)}`, "text/plain");
  expect(long.message.length).toBeLessThan(600);
  expect(long.message).not.toMatch(/[\p{Cc}]/u);
  expect((await refuse(502, "<html>…</html>", "text/html")).message).toMatch(/answered 502\.$/);
  expect((await refuse(429, "{}")).message).toContain("wait before the next one");
});

test("[M54] a call ends when it is stopped, when its time is over, and when the capability is closed", async () => {
  await using service = await openService(() => ({ hangs: true }));
  const stopped = new AbortController();
  const { call } = connect(service.origin);
  const first = errorOf(call("list", {}, stopped.signal));
  await service.next();
  stopped.abort();
  expect((await first).code).toBe("aborted");
  expect((await errorOf(call("list", {}, stopped.signal))).code).toBe("aborted");

  expect(
    (await errorOf(connect(service.origin, { config: { timeoutMs: 50 } }).call("list"))).code,
  ).toBe("timeout");

  const { connector, call: last } = connect(service.origin);
  const waiting = errorOf(last("list"));
  await service.next();
  await connector.close?.();
  await connector.close?.();
  expect((await waiting).code).toBe("detached");
  expect((await errorOf(last("list"))).code).toBe("detached");
});

test("[M54] a service that is away is an error that names it", async () => {
  const service = await openService(() => json({}));
  await service[Symbol.asyncDispose]();
  const error = await errorOf(connect(service.origin).call("list"));
  expect(error).toMatchObject({
    code: "unreachable",
    message: expect.stringMatching(/^127\.0\.0\.1:\d+ cannot be reached \(ECONNREFUSED\)\.$/),
  });
});
