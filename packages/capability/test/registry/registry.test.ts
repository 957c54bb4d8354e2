// What an agent may call: the lifecycle, batches, restarts, and the end of what is detached.

import { expect, test } from "vitest";
import type { CapabilityFactory, CapabilityRow, CapabilityState } from "../../src/index.ts";
import { OperationError, Registry } from "../../src/index.ts";
import { away, codeOf, context, Host, read, Server, settle, wish, write } from "./host.ts";

function namesOf(host: { list(): CapabilityRow[] }): string[] {
  return host.list().map(({ namespace, state }) => `${namespace} ${state}`);
}

test("[G1] a capability moves in its order, and every other move is refused with nothing stored", async () => {
  const all: CapabilityState[] = ["requested", "active", "releasing", "released"];
  const allowed = [
    "requested active",
    "requested released",
    "active releasing",
    "releasing released",
  ];
  for (const from of all)
    for (const to of all) {
      const host = new Host();
      host.server("a");
      const registry = await host.open();
      const { id } = await registry.attach(wish("a", { id: "a" }));
      if (from === "requested") {
        host.named("a").down = away;
        await registry.detach(id);
        await registry.attach(wish("a", { id: "a", keep: true, again: true }));
        host.named("a").down = undefined;
      }
      if (from === "releasing" || from === "released") await registry.transition(id, "releasing");
      if (from === "released") await registry.transition(id, "released");
      const writes = host.writes;
      const code = await codeOf(registry.transition(id, to));
      if (allowed.includes(`${from} ${to}`)) {
        expect([from, to, code]).toEqual([from, to, "no refusal"]);
        expect(host.rows()[0]!.state).toBe(to);
      } else {
        expect(["invalid_move", "unknown_capability"], `${from} ${to}`).toContain(code);
        expect(host.writes).toBe(writes);
        expect(host.rows()[0]!.state).toBe(from);
      }
      await registry.close();
    }
});

test("[G2] opening again gives the same list and surface while every server is down", async () => {
  const host = new Host();
  for (const name of ["a", "b", "c"]) host.server(name);
  const registry = await host.open();
  await registry.attach([wish("a"), wish("b", { labels: { look: "confirm" } }), wish("c")]);
  await registry.rename(registry.list()[0]!.id, "first");
  await registry.detach(registry.list().find(({ namespace }) => namespace === "c")!.id);
  const before = { list: registry.list(), surface: registry.surface() };
  await registry.close();
  for (const server of host.servers.values()) server.down = away;
  const asked = [...host.servers.values()].map(({ opened, listed }) => [opened, listed]);
  const again = await host.open();
  expect({ list: again.list(), surface: again.surface() }).toEqual(before);
  expect([...host.servers.values()].map(({ opened, listed }) => [opened, listed])).toEqual(asked);
});

test("[G4] a server that cannot be reached is not attached by hand, and its caller learns why", async () => {
  const host = new Host();
  host.server("a").down = away;
  const registry = await host.open();
  await expect(registry.attach(wish("a", { id: "a" }))).rejects.toThrow("start it");
  expect(registry.list()).toEqual([]);
  expect(host.rows()).toMatchObject([{ state: "released", problem: { code: "unreachable" } }]);
  expect(host.events).toEqual([]);
  host.named("a").down = undefined;
  expect((await registry.attach(wish("a", { id: "a" }))).state).toBe("active");
});

test("[G4] what is to be kept stays requested with its problem, and is attached once its server is there", async () => {
  const host = new Host();
  host.server("a").down = away;
  const registry = await host.open();
  const row = await registry.attach(wish("a", { id: "a", keep: true }));
  expect(row).toMatchObject({ state: "requested", problem: { code: "unreachable" } });
  expect(registry.surface().namespaces).toEqual([]);
  await host.pass(6_000);
  expect(namesOf(registry)).toEqual(["a requested"]);
  await registry.close();
  const again = await host.open();
  host.named("a").down = undefined;
  await host.pass(600_000);
  expect(again.list()).toMatchObject([{ namespace: "a", state: "active" }]);
  expect(again.list()[0]).not.toHaveProperty("problem");
  expect(host.events).toHaveLength(1);
});

test("[G4] an attached capability stays attached, with its operations, when its server goes down", async () => {
  const host = new Host();
  const server = host.server("a");
  const registry = await host.open();
  const { id } = await registry.attach(wish("a"));
  server.down = away;
  expect(await codeOf(registry.refresh(id))).toBe("attach_failed");
  expect(registry.show(id)).toMatchObject({ state: "active", problem: { code: "unreachable" } });
  expect(registry.surface().namespaces[0]!.operations).toHaveLength(2);
  server.down = undefined;
  expect(await registry.refresh(id)).not.toHaveProperty("problem");
  expect(host.events).toHaveLength(1);
});

test("[G4] a server that never answers holds nobody up for longer than the bound", async () => {
  const host = new Host();
  const server = host.server("a");
  server.operations = [];
  const registry = await host.open({ openMs: 1_000 });
  host.server(
    "a",
    new (class extends Server {
      override connector(id: string) {
        return { ...super.connector(id), operations: () => new Promise<never>(() => {}) };
      }
    })("a"),
  );
  const attached = codeOf(registry.attach(wish("a")));
  await settle();
  await host.pass(1_001);
  expect(await attached).toBe("attach_failed");
});

test("[G5] a kind without a factory is refused, and the refusal names the kinds", async () => {
  const host = new Host();
  const registry = await host.open();
  const refused = registry.attach({ kind: "carrier-pigeon" });
  await expect(refused).rejects.toThrow(/the kinds are: test/);
  expect(await codeOf(registry.attach({ kind: "carrier-pigeon" }))).toBe("unknown_kind");
  expect(host.rows()).toEqual([]);
});

test("[G6] a batch is attached and detached as a whole, with one event", async () => {
  const host = new Host();
  for (const name of ["a", "b", "c"]) host.server(name);
  const registry = await host.open();
  const rows = await registry.attach([wish("a"), wish("b"), wish("c")]);
  expect(host.events).toMatchObject([
    { revision: 1, changed: rows.map(({ id }) => id), notices: [] },
  ]);
  await registry.detach(rows.map(({ id }) => id));
  expect(host.events).toHaveLength(2);
  expect(registry.surface()).toEqual({ revision: 2, namespaces: [], renamed: {} });
});

test("[G6] a batch with a member that is wrong attaches none of it", async () => {
  const host = new Host();
  host.server("a");
  host.server("b").down = away;
  const registry = await host.open();
  expect(await codeOf(registry.attach([wish("a"), { kind: "none" }]))).toBe("unknown_kind");
  expect(host.rows()).toEqual([]);
  await expect(registry.attach([wish("a"), wish("b")])).rejects.toThrow("start it");
  expect(registry.list()).toEqual([]);
  expect(host.rows().map(({ state }) => state)).toEqual(["released", "released"]);
  expect(host.named("a").closed).toBe(1);
  expect(host.events).toEqual([]);
});

test("[G6] without a transaction one row changes at a time, and a batch is refused", async () => {
  const host = new Host();
  host.server("a");
  host.server("b");
  const options = host.options();
  delete options.transaction;
  const registry = new Registry(options);
  await registry.start();
  expect(await codeOf(registry.attach([wish("a"), wish("b")]))).toBe("no_transaction");
  expect(host.rows()).toEqual([]);
  expect((await registry.attach(wish("a"))).state).toBe("active");
});

test("[G6] what changes nothing that can be called tells no event", async () => {
  const host = new Host();
  host.server("a");
  const registry = await host.open();
  const { id, namespace } = await registry.attach(wish("a"));
  await registry.refresh(id);
  await registry.rename(id, namespace);
  await registry.change(id, { labels: {} });
  expect(host.events).toHaveLength(1);
  await registry.change(id, { labels: { look: "write" } });
  expect(host.events).toHaveLength(2);
});

test("[G7] an event that could not be told is told again when the registry starts, as it was", async () => {
  const host = new Host();
  host.server("a");
  let told = 0;
  const deaf = await host.open({
    emitEvent: () => {
      told++;
      throw new Error("nobody listens");
    },
  });
  const { id } = await deaf.attach(wish("a"));
  await deaf.rename(id, "b");
  expect(told).toBe(2);
  const again = await host.open();
  expect(host.events.map(({ revision }) => revision)).toEqual([1, 2]);
  expect(host.events[1]!.notices).toMatchObject([{ from: "a", to: "b" }]);
  expect(again.surface().revision).toBe(2);
  await host.open();
  expect(host.events).toHaveLength(2);
});

test("[G8] once it is detached nothing of it is called, whoever holds what", async () => {
  const host = new Host();
  const server = host.server("a");
  const registry = await host.open();
  const { id } = await registry.attach(wish("a"));
  await registry.detach(id);
  const calls = [registry.call(id, "act", {}, context), registry.call("a", "act", {}, context)];
  for (const call of calls) expect(await codeOf(call)).toBe("detached");
  expect(server.calls).toEqual([]);
  expect([server.closed, server.listeners.size]).toEqual([1, 0]);
});

test("[G8] a call that runs while it is detached may end by itself, and no further one begins", async () => {
  const host = new Host();
  const server = host.server("a");
  const registry = await host.open();
  const { id } = await registry.attach(wish("a"));
  const gate = Promise.withResolvers<string>();
  server.answer = () => gate.promise;
  const running = registry.call(id, "act", {}, context);
  await settle();
  const detached = registry.detach(id);
  await settle();
  expect(registry.list()).toMatchObject([{ state: "releasing" }]);
  expect(await codeOf(registry.call(id, "act", {}, context))).toBe("detached");
  gate.resolve("done");
  expect(await running).toBe("done");
  await detached;
  expect(server.calls).toHaveLength(1);
  expect(registry.list()).toEqual([]);
});

test("[G8] a call that goes on for too long is aborted, also where its connector does not listen", async () => {
  const host = new Host();
  const server = host.server("a");
  const registry = await host.open({ releaseMs: 1_000 });
  const { id } = await registry.attach(wish("a"));
  let aborted = false;
  server.answer = (_operation, _input, { signal }) => {
    signal.addEventListener("abort", () => (aborted = true));
    return new Promise(() => {});
  };
  const running = codeOf(registry.call(id, "act", {}, context));
  await settle();
  const detached = registry.detach(id);
  await settle();
  await host.pass(20_000);
  await detached;
  expect([await running, aborted, server.closed]).toEqual(["detached", true, 1]);
  expect(host.rows()[0]!.state).toBe("released");
});

test("[G8] who waits for a call that is cut off is told that its effect is not known", async () => {
  const host = new Host();
  const server = host.server("a");
  server.answer = () => new Promise(() => {});
  const registry = await host.open({ releaseMs: 1_000 });
  const told = (call: Promise<unknown>) => call.catch((error: unknown) => String(error));
  const { id } = await registry.attach(wish("a"));
  const detached = told(registry.call(id, "act", {}, context));
  await settle();
  const release = registry.detach(id);
  await settle();
  const refused = await told(registry.call(id, "act", {}, context));
  await host.pass(20_000);
  await release;
  expect(await detached).toMatch(/^OperationError: act was under way, .*not known: check before/);
  expect(refused).toMatch(
    /^OperationError: Capability .* is detached: nothing of it can be called/,
  );

  await registry.attach(wish("a", { id: "b" }));
  const stopped = told(registry.call("b", "act", {}, context));
  await settle();
  const close = registry.close();
  await settle();
  await host.pass(20_000);
  await close;
  expect(await stopped).toMatch(/^OperationError: act was under way, .*The host is stopping/);
  expect(await stopped).not.toContain("again");
  expect(await told(registry.call("b", "act", {}, context))).toContain("until it is back");
});

test("[G8] what is detached while it is being attached is never attached", async () => {
  const host = new Host();
  const gate = Promise.withResolvers<void>();
  class Slow extends Server {
    override connector(id: string) {
      const connector = super.connector(id);
      const operations = async (signal: AbortSignal) => {
        await gate.promise;
        return connector.operations(signal);
      };
      return { ...connector, operations };
    }
  }
  const server = host.server("a", new Slow("a"));
  const registry = await host.open();
  const attached = codeOf(registry.attach(wish("a", { id: "a" })));
  await settle();
  await registry.detach("a");
  gate.resolve();
  expect(await attached).toBe("attach_failed");
  await settle();
  expect(registry.list()).toEqual([]);
  expect(host.events).toEqual([]);
  expect(server.closed).toBe(1);
});

test("[G8] a call that still waits for its connector when that is detached is never made", async () => {
  const host = new Host();
  const server = host.server("a");
  await (await host.open()).attach(wish("a", { id: "a" }));
  const gate = Promise.withResolvers<void>();
  const made = host.factory();
  const factory: CapabilityFactory = {
    kind: made.kind,
    create: async (row, resolver) => {
      await gate.promise;
      return made.create(row, resolver);
    },
  };
  const registry = await host.open({ factories: [factory] });
  const call = codeOf(registry.call("a", "act", {}, context));
  await settle();
  const detached = registry.detach("a");
  await settle();
  gate.resolve();
  expect(await call).toBe("detached");
  await detached;
  expect([server.calls, host.rows()[0]!.state]).toEqual([[], "released"]);
});

test("[G4] a server that stays away is written down once, not at every try", async () => {
  const host = new Host();
  host.server("a").down = away;
  const registry = await host.open();
  await registry.attach(wish("a", { id: "a", keep: true }));
  const writes = host.writes;
  await host.pass(3_600_000);
  expect(host.writes).toBe(writes);
  expect(host.named("a").listed).toBeLessThan(30);
  await registry.close();
  expect(host.timers).toEqual([]);
});

test("[G9] what a crash left half done is finished at the next start", async () => {
  const host = new Host();
  for (const name of ["a", "b", "c"]) host.server(name);
  const registry = await host.open();
  await registry.attach([wish("a", { id: "a" }), wish("b", { id: "b" }), wish("c", { id: "c" })]);
  await registry.transition("a", "releasing");
  // As a crash between the wish and its answer leaves it.
  const row = host.rows().find(({ id }) => id === "b")!;
  host.stored.set("b", JSON.stringify({ ...row, state: "requested", operations: [] }));
  const again = await host.open();
  expect(namesOf(again)).toEqual(["c active"]);
  expect(host.rows().map(({ id, state }) => `${id} ${state}`)).toEqual([
    "a released",
    "b released",
    "c active",
  ]);
  expect(await codeOf(again.call("a", "act", {}, context))).toBe("detached");
});

test("[G10] the same request attaches nothing twice, another one under its key is refused", async () => {
  const host = new Host();
  host.server("a");
  host.server("b");
  const registry = await host.open();
  const [one, two] = await Promise.all([
    registry.attach(wish("a", { requestId: "r" })),
    registry.attach(wish("a", { requestId: "r" })),
  ]);
  expect(one.id).toBe(two.id);
  const again = await host.open();
  expect((await again.attach(wish("a", { requestId: "r" }))).id).toBe(one.id);
  expect(await codeOf(again.attach(wish("b", { requestId: "r" })))).toBe("conflict");
  await again.detach(one.id);
  expect(await codeOf(again.attach(wish("a", { requestId: "r" })))).toBe("conflict");
  expect(host.named("a").opened).toBe(1);
});

test("[G11] a changed list is stored and told once, floods of changes are taken together", async () => {
  const host = new Host();
  const server = host.server("a");
  const registry = await host.open();
  await registry.attach(wish("a"));
  server.operations = [read("look"), write("act"), write("new one")];
  for (let n = 0; n < 20; n++) server.tellChanged();
  await settle();
  expect(host.events).toHaveLength(2);
  await host.pass(5_000);
  expect(server.listed).toBe(3);
  expect(host.events).toHaveLength(2);
  expect(registry.surface().namespaces[0]!.operations.map(({ property }) => property)).toEqual([
    "act",
    "look",
    "new_one",
  ]);
  const again = await host.open();
  expect(again.surface()).toEqual(registry.surface());
});

test("[G12] auth is asked for at each call and by the capability's id", async () => {
  const host = new Host();
  const server = host.server("a");
  const asked: string[] = [];
  let token = 0;
  const registry = await host.open({
    resolver: {
      resolve: async ({ id }) => {
        asked.push(id);
        return { ok: true, auth: { kind: "oauth", token: String(++token), version: "1" } };
      },
    },
  });
  server.answer = async (_operation, _input, made) => made.resolve();
  const { id } = await registry.attach(wish("a"));
  expect(await registry.call(id, "act", {}, context)).toMatchObject({ auth: { token: "1" } });
  expect(await registry.call(id, "act", {}, context)).toMatchObject({ auth: { token: "2" } });
  expect(asked).toEqual([id, id]);
});

test("[G12] an operation is called by its connector's name or its property; one that is not there is refused with a hint", async () => {
  const host = new Host();
  const server = host.server("a");
  server.operations = [write("create/thing")];
  const registry = await host.open();
  const { id } = await registry.attach(wish("a"));
  expect(await registry.call(id, "create_thing", {}, context)).toBe("did create/thing");
  expect(await registry.call(id, "create/thing", {}, context)).toBe("did create/thing");
  const wrong = registry.call(id, "create_thign", {}, context);
  await expect(wrong).rejects.toThrow("create_thing");
  expect(await codeOf(registry.call(id, "create_thign", {}, context))).toBe("unknown_operation");
});

test("[G12] an aborted call ends at once with why, whatever its connector does", async () => {
  const host = new Host();
  const server = host.server("a");
  const registry = await host.open();
  const { id } = await registry.attach(wish("a"));
  server.answer = () => new Promise(() => {});
  const abort = new AbortController();
  const call = registry.call(id, "act", {}, { ...context, signal: abort.signal });
  await settle();
  abort.abort(new OperationError("aborted", "enough"));
  expect(await codeOf(call)).toBe("aborted");
});

test("[G13] the owner's label wins, nobody's hint lowers one, and a label that names nothing is told", async () => {
  const host = new Host();
  const server = host.server("a");
  server.operations = [write("pay"), { ...read("look"), confirm: true }, write("send")];
  const registry = await host.open();
  const labels = { pay: "confirm", look: "read", sned: "confirm" } as const;
  const { id } = await registry.attach(wish("a", { labels }));
  const shown = registry.surface().namespaces[0]!.operations;
  expect(shown.map(({ name, label, confirm }) => [name, label, confirm === true])).toEqual([
    ["look", "read", false],
    ["pay", "write", true],
    ["send", "write", false],
  ]);
  const { problem } = registry.show(id);
  expect(problem).toMatchObject({ code: "unknown_label" });
  expect(problem!.message).toContain("send");
  await registry.change(id, { labels: { pay: "confirm" } });
  expect(registry.show(id)).not.toHaveProperty("problem");
});

test("[G14] a closed registry ends what runs and changes nothing", async () => {
  const host = new Host();
  const server = host.server("a");
  const registry = await host.open();
  const { id } = await registry.attach(wish("a"));
  server.answer = () => new Promise(() => {});
  const running = codeOf(registry.call(id, "act", {}, context));
  await settle();
  const closing = registry.close();
  await settle();
  await host.pass(20_000);
  await closing;
  expect(await running).toBe("detached");
  expect(await codeOf(registry.call(id, "act", {}, context))).toBe("detached");
  expect(await codeOf(registry.attach(wish("a")))).toBe("closed");
  expect(host.rows()).toMatchObject([{ state: "active" }]);
  expect(server.closed).toBe(1);
});
