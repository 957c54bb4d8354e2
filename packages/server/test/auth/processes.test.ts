// One token, many processes: who renews, who waits, and what a death in the middle does.

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { AuthResult } from "@lichen/capability";
import { expect, test } from "vitest";
import { AuthProblem } from "../../src/auth/problem.ts";
import { Renewals } from "../../src/auth/renewal.ts";
import type { Login } from "../../src/auth/token-store.ts";
import { agentId, type Rig, signal, tokenOf, withRig } from "./rig.ts";

const program = join(import.meta.dirname, "programs/renew.ts");

interface Renewer {
  readonly child: ChildProcess;
  /** Tells it to renew; settles with what it answers, or with undefined where it dies. */
  renew(): Promise<AuthResult | undefined>;
  kill(): Promise<void>;
}

/** A process that has resolved the token and waits for the word. */
async function renewer({ path, server, folder }: Rig, leaseMs?: number): Promise<Renewer> {
  const child = spawn(
    process.execPath,
    [program, path, server.resource, ...(leaseMs === undefined ? [] : [String(leaseMs)])],
    { env: { NODE_COMPILE_CACHE: join(folder, "cache") }, stdio: ["pipe", "pipe", "inherit"] },
  );
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe("ready");
  return {
    child,
    async renew() {
      child.stdin.write("refresh\n");
      const line: IteratorResult<string, undefined> = await lines.next();
      return line.value === undefined ? undefined : (JSON.parse(line.value) as AuthResult);
    },
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

test(
  "[V20] fifty processes that renew one rotating token ask its server once, and all hold what it gave",
  () =>
    withRig(async (rig) => {
      const { server, signedIn } = rig;
      signedIn();
      const renewers: Renewer[] = [];
      try {
        // Started ten at a time; renewing is what they do all at once.
        for (let group = 0; group < 5; group++)
          renewers.push(...(await Promise.all(Array.from({ length: 10 }, () => renewer(rig)))));
        const answers = await Promise.all(renewers.map((one) => one.renew()));
        const tokens = answers.map((answer) => tokenOf(answer!).token);
        expect(tokens).toHaveLength(50);
        expect(new Set(tokens).size).toBe(1);
        expect(server.isGood(tokens[0]!)).toBe(true);
        expect(server.asked).toHaveLength(1);
        expect([server.rotations, server.reuses]).toEqual([1, 0]);
      } finally {
        await Promise.all(renewers.map((one) => one.kill()));
      }
    }),
  180_000,
);

test("[V21] who renews and is killed before its server has rotated is superseded when its lease ends", () =>
  withRig(async (rig) => {
    const { server, signedIn, credentials } = rig;
    const before = signedIn();
    const asked = Promise.withResolvers<void>();
    const dead = Promise.withResolvers<void>();
    let requests = 0;
    server.beforeRotation = async () => {
      if (requests++ > 0) return;
      asked.resolve();
      // The request of the dead never takes effect.
      await dead.promise;
      throw new Error("nobody listens");
    };
    const [holder, other] = await Promise.all([renewer(rig, 1_500), renewer(rig, 1_500)]);
    try {
      const lost = holder.renew();
      await asked.promise;
      const taken = other.renew();
      await holder.kill();
      expect(await lost).toBeUndefined();
      expect(credentials.of(agentId).read("mail")?.tokens).toEqual(before.tokens);
      const token = tokenOf((await taken)!).token;
      expect(server.isGood(token)).toBe(true);
      expect([server.rotations, server.reuses, requests]).toEqual([1, 0, 2]);
      expect(credentials.of(agentId).read("mail")?.version).toBe(2);
    } finally {
      dead.resolve();
      await Promise.all([holder.kill(), other.kill()]);
    }
  }));

test("[V21] a token whose rotation nobody heard of is not lost in silence: what there was stays, and a person is asked to sign in", () =>
  withRig(async (rig) => {
    const { server, signedIn, credentials } = rig;
    const before = signedIn();
    const rotated = Promise.withResolvers<void>();
    const dead = Promise.withResolvers<void>();
    server.afterRotation = async () => {
      rotated.resolve();
      await dead.promise;
    };
    const [holder, other] = await Promise.all([renewer(rig, 1_500), renewer(rig, 1_500)]);
    try {
      const lost = holder.renew();
      await rotated.promise;
      await holder.kill();
      expect(await lost).toBeUndefined();
      const failure = await other.renew();
      expect(failure).toMatchObject({ ok: false, error: { code: "refresh_failed" } });
      expect(credentials.of(agentId).read("mail")).toMatchObject({
        tokens: before.tokens,
        version: 1,
        isRefused: true,
      });
      expect([server.rotations, server.reuses]).toEqual([1, 1]);
    } finally {
      dead.resolve();
      await Promise.all([holder.kill(), other.kill()]);
    }
  }));

test("[V23] a host that closes waits for its own renewal, and for nobody else's", () =>
  withRig(async ({ signedIn, credentials, clock }) => {
    const login = signedIn();
    const store = credentials.of(agentId);
    const waiting = Promise.withResolvers<void>();
    const tick = Promise.withResolvers<void>();
    const renewals = new Renewals({
      store,
      now: () => clock.now,
      wait: () => {
        waiting.resolve();
        return tick.promise;
      },
      randomId: () => "owner",
      deadline: () => signal,
    });
    const done = Promise.withResolvers<void>();
    const own = renewals.renew(
      "mail",
      1,
      () => done.promise.then(() => brought(login, "own")),
      signal,
    );
    store.lease("other", "another", clock.now, 60_000);
    const others = renewals.renew("other", undefined, () => done.promise.then(() => login), signal);
    await waiting.promise;
    const closing = renewals.close();
    tick.resolve();
    expect((await others).problem).toContain("closing");
    done.resolve();
    expect(await own).toMatchObject({ login: { version: 2 } });
    await closing;
  }));

const brought = (login: Login, access: string): Login => ({
  ...login,
  tokens: { ...login.tokens, access },
});

test("[V22] a holder that comes back after its lease was taken over writes nothing, and is given what stands there", () =>
  withRig(async ({ signedIn, credentials, clock }) => {
    const login = signedIn();
    const store = credentials.of(agentId);
    const late = store.lease("mail", "late", clock.now, 1_000);
    const held = store.lease("mail", "next", clock.now, 1_000);
    if (!("owner" in late) || "owner" in held) throw new Error("the lease is wrong");
    expect(held).toEqual({ fence: late.fence, isHeld: true });
    clock.now += 1_000;
    const next = store.lease("mail", "next", clock.now, 1_000);
    if (!("owner" in next)) throw new Error("the lease did not end");
    expect(next.fence).toBe(late.fence + 1);
    expect(store.renewed(late, brought(login, "late"))).toBeUndefined();
    store.release(late, { message: "late", isRefused: true });
    expect(store.leaseState("mail", clock.now)).toEqual({ fence: next.fence, isHeld: true });
    expect(store.renewed(next, brought(login, "next"))).toMatchObject({ version: 2 });
    expect(store.renewed(next, brought(login, "again"))).toBeUndefined();
    expect(store.read("mail")).toMatchObject({ tokens: { access: "next" }, isRefused: false });
    // A clock that was set back does not keep a lease for ever.
    store.lease("mail", "ahead", clock.now + 86_400_000, 1_000);
    expect(store.lease("mail", "now", clock.now, 1_000)).toMatchObject({ owner: "now" });
  }));

test("[V22] a sign-in or a sign-out during a renewal stands, whatever the renewal brings", () =>
  withRig(async ({ signedIn, credentials, clock }) => {
    const store = credentials.of(agentId);
    const options = {
      store,
      now: () => clock.now,
      wait: () => Promise.resolve(),
      randomId: () => "owner",
      deadline: () => signal,
    };
    const renewals = new Renewals(options);
    const first = signedIn();
    const during = await renewals.renew(
      "mail",
      1,
      async () => {
        signedIn();
        return brought(first, "late");
      },
      signal,
    );
    expect(during).toMatchObject({ login: { version: 2 } });
    expect(store.read("mail")?.tokens.access).not.toBe("late");
    const out = await renewals.renew(
      "mail",
      2,
      async () => {
        store.clear("mail");
        return brought(first, "late");
      },
      signal,
    );
    expect(out.problem).toContain("signed out");
    expect(store.read("mail")).toBeUndefined();
    expect(signedIn() && store.read("mail")?.version).toBe(4);
  }));

test("[V23] who waits for a renewal is told how it failed, and does not try it again; the wait ends by itself", () =>
  withRig(async ({ signedIn, credentials, clock }) => {
    signedIn();
    const store = credentials.of(agentId);
    const lease = store.lease("mail", "another", clock.now, 1_000);
    if (!("owner" in lease)) throw new Error("no lease");
    let waits = 0;
    const options = (wait: () => Promise<void>) => ({
      store,
      now: () => clock.now,
      wait,
      randomId: () => "owner",
      deadline: () => signal,
      leaseMs: 1_000,
    });
    const never = (): Promise<Login> => Promise.reject(new Error("nobody asked for this"));
    const waiting = new Renewals(
      options(async () => {
        if (++waits === 3)
          store.release(lease, { message: "its server is away.", isRefused: false });
      }),
    );
    expect(await waiting.renew("mail", 1, never, signal)).toEqual({
      problem: "its server is away.",
    });
    expect(waits).toBe(3);
    // Another one that takes the lease again and again.
    const busy = new Renewals(
      options(async () => {
        clock.now += 250;
        store.lease("mail", "another", clock.now, 60_000);
      }),
    );
    store.lease("mail", "another", clock.now, 60_000);
    const end = await busy.renew("mail", 1, never, signal);
    expect(end.problem).toContain("too long");
    const bug = new Renewals(options(async () => {}));
    clock.now += 60_000;
    const told = await bug.renew("mail", 1, () => Promise.reject(new Error("canary-1")), signal);
    expect(told.problem).not.toContain("canary");
    const refused = await bug.renew(
      "mail",
      1,
      () => Promise.reject(new AuthProblem("denied", "no.", true)),
      signal,
    );
    expect([refused.problem, store.read("mail")?.isRefused]).toEqual(["no.", true]);
  }));
