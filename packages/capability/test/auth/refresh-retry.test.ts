import { expect, test } from "vitest";
import {
  type Auth,
  AuthNotConfiguredError,
  type AuthResolver,
  type AuthResult,
  ConnectionNotFoundError,
  connectionRef,
  fromLegacyAuth,
  noResolveAuth,
  RefreshFailedError,
  SingleFlight,
  TokenExpiredError,
  withRefreshRetry,
} from "@lichen/capability";

const ref = connectionRef("mail");
const { signal } = new AbortController();

/** A resolver over one row, as an embedder writes it; counts what it is asked. */
function rowResolver(row: { token: string; canRefresh: boolean }) {
  const asked = { resolve: 0, refresh: 0 };
  const auth = (): AuthResult => ({
    ok: true,
    auth: { kind: "oauth", token: row.token, version: row.token },
  });
  const resolver: AuthResolver = {
    resolve: async () => {
      asked.resolve++;
      return auth();
    },
    refresh: async () => {
      asked.refresh++;
      if (!row.canRefresh)
        return { ok: false, error: new TokenExpiredError(ref, "No refresh token: sign in again.") };
      row.token = `${row.token}+`;
      return auth();
    },
  };
  return { asked, resolver };
}

/** A server that takes one token only. */
function server(right: string) {
  const seen: string[] = [];
  const send = async (auth: Auth): Promise<number> => {
    const token = auth.kind === "oauth" ? auth.token : "";
    seen.push(token);
    return token === right ? 200 : 401;
  };
  return { seen, send };
}

const isExpired = (status: number): boolean => status === 401;

test("[V1] the four failures are values that anybody can make: a code, a sentence, and no secret", () => {
  const failures = [
    new ConnectionNotFoundError(ref),
    new AuthNotConfiguredError(ref),
    new TokenExpiredError(ref),
    new RefreshFailedError(ref),
  ];
  expect(failures.map(({ code }) => code)).toEqual([
    "connection_not_found",
    "auth_not_configured",
    "token_expired",
    "refresh_failed",
  ]);
  for (const failure of failures) {
    expect(failure).toBeInstanceOf(Error);
    expect(failure.message).toContain("mail");
    const result: AuthResult = { ok: false, error: failure };
    expect(result.error.message).toBe(failure.message);
  }
  expect(new AuthNotConfiguredError(ref, "Set MAIL_TOKEN.").message).toBe("Set MAIL_TOKEN.");
  expect(() => connectionRef("")).toThrow(/must not be empty/);
});

test("[V2] every call asks the resolver, so a token that was rotated between two calls is used by the second", async () => {
  const row = { token: "a", canRefresh: true };
  const { asked, resolver } = rowResolver(row);
  const { seen, send } = server("a");
  await withRefreshRetry(resolver, ref, send, { signal, isExpired });
  row.token = "b";
  const again = server("b");
  const second = await withRefreshRetry(resolver, ref, again.send, { signal, isExpired });
  expect(second).toEqual({ ok: true, value: 200 });
  expect([seen, again.seen]).toEqual([["a"], ["b"]]);
  expect(asked).toEqual({ resolve: 2, refresh: 0 });
});

test("[V3] an answer that says expired is followed by one refresh and one more call", async () => {
  const { asked, resolver } = rowResolver({ token: "a", canRefresh: true });
  const { seen, send } = server("a+");
  const result = await withRefreshRetry(resolver, ref, send, { signal, isExpired });
  expect(result).toEqual({ ok: true, value: 200 });
  expect(seen).toEqual(["a", "a+"]);
  expect(asked).toEqual({ resolve: 1, refresh: 1 });
});

test("[V3] a second answer that says expired is handed back, and nothing loops", async () => {
  const { asked, resolver } = rowResolver({ token: "a", canRefresh: true });
  const { seen, send } = server("never");
  const result = await withRefreshRetry(resolver, ref, send, { signal, isExpired });
  expect(result).toEqual({ ok: true, value: 401 });
  expect(seen).toEqual(["a", "a+"]);
  expect(asked.refresh).toBe(1);

  const thrower = async (): Promise<number> => {
    throw new TokenExpiredError(ref);
  };
  const thrown = await withRefreshRetry(resolver, ref, thrower, { signal });
  expect(thrown).toMatchObject({ ok: false, error: { code: "token_expired" } });
  expect(asked.refresh).toBe(2);
});

test("[V3] a refresh that fails is refresh_failed, whatever it failed with, and the call is not made again", async () => {
  const { resolver } = rowResolver({ token: "a", canRefresh: false });
  const { seen, send } = server("b");
  const result = await withRefreshRetry(resolver, ref, send, { signal, isExpired });
  expect(result).toMatchObject({
    ok: false,
    error: { code: "refresh_failed", message: "No refresh token: sign in again." },
  });
  expect(seen).toEqual(["a"]);
});

test("[V3] what cannot be renewed is answered as it is, a failed resolve sends nothing, and other errors pass", async () => {
  const { send, seen } = server("b");
  const plain = await withRefreshRetry(noResolveAuth, ref, send, { signal, isExpired });
  expect(plain).toEqual({ ok: true, value: 401 });
  const missing: AuthResolver = {
    resolve: async () => ({ ok: false, error: new ConnectionNotFoundError(ref) }),
  };
  const none = await withRefreshRetry(missing, ref, send, { signal, isExpired });
  expect(none).toMatchObject({ ok: false, error: { code: "connection_not_found" } });
  expect(seen).toHaveLength(1);
  const broken = async (): Promise<number> => {
    throw new Error("broken");
  };
  await expect(withRefreshRetry(noResolveAuth, ref, broken, { signal })).rejects.toThrow("broken");
});

test("[V5] work that is asked for at the same time runs once, and its result is kept for nobody later", async () => {
  const flight = new SingleFlight<number>();
  const gate = Promise.withResolvers<void>();
  let runs = 0;
  const work = async (): Promise<number> => {
    const run = ++runs;
    await gate.promise;
    return run;
  };
  const leaving = new AbortController();
  const first = flight.run("mail", work, signal);
  const second = flight.run("mail", work, signal);
  const left = flight.run("mail", work, leaving.signal);
  const other = flight.run("calendar", work, signal);
  leaving.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  gate.resolve();
  expect(await Promise.all([first, second, other])).toEqual([1, 1, 2]);
  expect(await flight.run("mail", work, signal)).toBe(3);
  await expect(
    flight.run("mail", () => Promise.reject(new Error("failed")), signal),
  ).rejects.toThrow("failed");
  expect(await flight.run("mail", work, signal)).toBe(4);
  await flight.idle();
});

test("[V6] the ramps answer as a resolver does: no auth at all, or what older code captured or looks up", async () => {
  expect(await noResolveAuth.resolve(ref, signal)).toEqual({ ok: true, auth: { kind: "none" } });
  expect(await fromLegacyAuth("t").resolve(ref, signal)).toEqual({
    ok: true,
    auth: { kind: "header", headers: { authorization: "Bearer t" } },
  });
  let key = "one";
  const looked = fromLegacyAuth(async (id) => ({ "X-Key": `${id}-${key}` }));
  expect(await looked.resolve(ref, signal)).toMatchObject({
    auth: { headers: { "x-key": "mail-one" } },
  });
  key = "two";
  expect(await looked.resolve(ref, signal)).toMatchObject({
    auth: { headers: { "x-key": "mail-two" } },
  });
  expect(await fromLegacyAuth(undefined).resolve(ref, signal)).toMatchObject({
    ok: false,
    error: { code: "auth_not_configured" },
  });
});
