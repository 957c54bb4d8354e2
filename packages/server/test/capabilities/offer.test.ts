// What turns wait for while servers hang. Real registries in real stores; the servers of kind `silent` never answer.

import type { CapabilityFactory } from "@lichen/capability";
import type { Capabilities } from "@lichen/runtime";
import { expect, onTestFinished, test } from "vitest";
import { Offer } from "../../src/capabilities/host/offer.ts";
import type { NamedConnection } from "../../src/folder/connection-set.ts";
import { openAgentRig } from "../door/agent-rig.ts";

const input = { type: "object" };

/** Lends one operation, named by the folder. */
const files: CapabilityFactory = {
  kind: "files",
  create: ({ id, namespace, config }) => ({
    ...{ id, kind: "files", namespace },
    operations: async () => [
      { name: config["root"] === "two" ? "two" : "one", description: "", input, label: "read" },
    ],
    call: async () => null,
  }),
};

/** Who asks it gets no answer before `answer`. */
function silent() {
  let asked = 0;
  let answer = Promise.withResolvers<void>();
  const factory: CapabilityFactory = {
    kind: "mcp",
    create: ({ id, namespace }) => ({
      ...{ id, kind: "mcp", namespace },
      operations: async (signal) => {
        asked++;
        await Promise.race([answer.promise, aborted(signal)]);
        return [{ name: "late", description: "", input, label: "read" }];
      },
      call: async () => null,
    }),
  };
  return {
    factory,
    asked: () => asked,
    answer: () => answer.resolve(),
    fail: () => {
      answer.reject(new Error("It is down."));
      answer = Promise.withResolvers();
    },
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
  );
}

function named(name: string, more: { root?: string; url?: string } = {}): NamedConnection {
  const { root, url = "https://a.example" } = more;
  const connection = root === undefined ? { kind: "mcp", url } : { kind: "files", root };
  return { name, file: `connections/${name}.ts`, connection } as NamedConnection;
}

/** Turns that wait for as long as the test lets them. */
async function openOffer() {
  const server = silent();
  const rig = await openAgentRig({
    capabilities: {
      factories: [files, server.factory],
      resolver: { resolve: async () => ({ ok: true, auth: { kind: "none" } }) as const },
    },
  });
  onTestFinished(() => rig[Symbol.asyncDispose]());
  let began = Promise.withResolvers<() => void>();
  const offer = new Offer(capabilitiesOf(rig.agent.capabilities), (_ms, wake) => {
    began.resolve(wake);
    return () => {};
  });
  onTestFinished(() => offer.close());
  const offered = async (...connections: NamedConnection[]) => {
    const found = await offer.of({ connections, tools: [], directUpTo: 100 });
    return found?.tools.map(({ name }) => name).sort() ?? [];
  };
  return {
    server,
    registry: rig.agent.capabilities.registry,
    offered,
    /** The same by a turn whose patience ends; fails where it waits for nothing. */
    offeredLate: async (...connections: NamedConnection[]) => {
      began = Promise.withResolvers();
      const asked = server.asked();
      const turn = offered(...connections);
      const wake = await Promise.race([began.promise, turn.then(() => undefined)]);
      if (wake === undefined) throw new Error("the turn did not wait");
      await expect.poll(() => server.asked()).toBeGreaterThan(asked);
      wake();
      return turn;
    },
  };
}

function capabilitiesOf(capabilities: Capabilities): ConstructorParameters<typeof Offer>[0] {
  return {
    options: {
      factories: [],
      resolver: { resolve: async () => ({ ok: true, auth: { kind: "none" } }) },
    },
    adopt: () => {},
    adopted: Promise.resolve(capabilities),
    auth: () => Promise.reject(new Error("nobody signs in here")),
    close: async () => {},
  };
}

test("[F23] a server that hangs holds up one turn, and no turn waits for it, or misses anything, where another connection is changed", async () => {
  const { offered, offeredLate } = await openOffer();
  const hanging = named("slow");
  await offeredLate(hanging, named("notes", { root: "one" }));
  expect(await offered(hanging, named("notes", { root: "two" }))).toEqual(["notes_two"]);
  expect(await offered(hanging, named("more", { root: "one" }))).toEqual(["more_one"]);
  expect(await offered(hanging)).toEqual([]);
});

test("[F23] a server that hangs is not waited for again after it failed, and is offered once it answers", async () => {
  const { server, registry, offered, offeredLate } = await openOffer();
  const hanging = named("slow");
  await offeredLate(hanging);
  server.fail();
  await expect.poll(() => registry.show("slow").problem).toBeDefined();
  const asked = server.asked();
  expect(await offered(hanging, named("notes", { root: "one" }))).toEqual(["notes_one"]);
  await expect.poll(() => server.asked()).toBeGreaterThan(asked);
  server.answer();
  await expect.poll(() => registry.show("slow").state).toBe("active");
  expect(await offered(hanging, named("notes", { root: "one" }))).toEqual([
    "notes_one",
    "slow_late",
  ]);
});

test("[F23] one that hangs and is declared otherwise is waited for anew, as it is declared now", async () => {
  const { server, registry, offered, offeredLate } = await openOffer();
  await offeredLate(named("slow"));
  const changed = named("slow", { url: "https://b.example" });
  await offeredLate(changed);
  expect(registry.show("slow").config["url"]).toBe("https://b.example");
  server.answer();
  await expect.poll(() => registry.show("slow").state).toBe("active");
  expect(await offered(changed)).toEqual(["slow_late"]);
});
