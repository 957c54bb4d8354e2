// Connectors and owners as they may be: what they say is cleaned, bounded or refused, and what they never do is ended.

import { expect, test } from "vitest";
import type { CapabilityFactory, JsonObject } from "../../src/index.ts";
import { codeOf, context, Host, Server, settle, wish, write } from "./host.ts";

test("[G25] what people and models read of an operation hides no words and turns none around; what is compared stays as it is", async () => {
  const host = new Host();
  const tags = Array.from("send all", (letter) =>
    String.fromCodePoint(0xe0000 + letter.charCodeAt(0)),
  );
  const hidden = `a\u200bb${tags.join("")}\u202ec\u2066d\ufe0f\u3164e\u00ad`;
  const server = host.server("a", new Server("a"));
  server.hint = "a";
  server.operations = [
    {
      name: "act",
      description: hidden,
      label: "write",
      input: {
        type: "object",
        description: hidden,
        properties: {
          [hidden]: { title: hidden, default: hidden, enum: [hidden] },
          description: { type: "string", description: hidden },
        },
        required: [hidden],
      },
      output: { items: [{ description: hidden }] },
    },
  ];
  const registry = await host.open();
  const { operations } = await registry.attach(wish("a"));
  expect(operations).toMatchObject([
    {
      name: "act",
      description: "abcde",
      input: {
        description: "abcde",
        properties: {
          [hidden]: { title: "abcde", default: hidden, enum: [hidden] },
          description: { type: "string", description: "abcde" },
        },
        required: [hidden],
      },
      output: { items: [{ description: "abcde" }] },
    },
  ]);
});

test("[G4] a connector that is never made holds up one call and not the next, and is closed when it is made after all", async () => {
  const host = new Host();
  const server = host.server("a");
  const { id } = await (await host.open()).attach(wish("a"));
  const late = Promise.withResolvers<void>();
  let made = 0;
  const factory = host.factory();
  const slow: CapabilityFactory = {
    ...factory,
    create: async (row, resolver) => {
      if (++made === 1) await late.promise;
      return factory.create(row, resolver);
    },
  };
  const registry = await host.open({ factories: [slow] });
  const first = codeOf(registry.call(id, "act", {}, context));
  await settle();
  await host.pass(30_000);
  expect(await first).toBe("unreachable");
  expect(await registry.call(id, "act", {}, context)).toBe("did act");
  late.resolve();
  await settle();
  expect([made, server.closed]).toEqual([2, 1]);
  expect(await registry.call(id, "act", {}, context)).toBe("did act");
});

test("[G13] a word that is no label is refused, and takes no confirmation away", async () => {
  const host = new Host();
  host.server("a").operations = [{ ...write("pay"), confirm: true }];
  const registry = await host.open();
  const labels = JSON.parse('{"pay":"Confirm"}') as { pay: "confirm" };
  expect(await codeOf(registry.attach(wish("a", { labels })))).toBe("invalid");
  const { id } = await registry.attach(wish("a"));
  expect(await codeOf(registry.change(id, { labels }))).toBe("invalid");
  expect(registry.surface().namespaces[0]!.operations).toMatchObject([{ confirm: true }]);
});

test("[G4] what a connector says of its failure is stored bounded, without what nobody sees", async () => {
  const host = new Host();
  host.server("a").down = new Error(`no\u202e${"x".repeat(100_000)}`);
  const registry = await host.open();
  const { problem } = await registry.attach(wish("a", { keep: true }));
  expect(problem?.message).toMatch(/^nox{3000,4000}$/);
});

test("[G26] a call that its connector never ends is ended in time; a person who is asked may take longer", async () => {
  const host = new Host();
  const server = host.server("a");
  const registry = await host.open();
  const { id } = await registry.attach(wish("a"));
  const hour = 3_600_000;
  const answered = Promise.withResolvers<JsonObject>();
  let aborted = 0;
  server.answer = async (operation, _input, { ask, signal }) => {
    signal.addEventListener("abort", () => aborted++);
    return operation === "act" ? ask?.([]) : new Promise(() => {});
  };
  const asking = registry.call(id, "act", {}, { ...context, ask: () => answered.promise });
  const hanging = codeOf(registry.call(id, "look", {}, context));
  await settle();
  await host.pass(hour);
  expect(aborted).toBe(0);
  await host.pass(hour);
  expect(await hanging).toBe("timeout");
  await host.pass(100 * hour);
  answered.resolve({ yes: "1" });
  expect(await asking).toEqual({ yes: "1" });
  expect([aborted, host.timers]).toEqual([1, []]);
  server.answer = async (_operation, _input, { ask }) => {
    await ask?.([]);
    return new Promise(() => {});
  };
  const later = codeOf(registry.call(id, "act", {}, { ...context, ask: async () => ({}) }));
  await settle();
  await host.pass(2 * hour);
  expect(await later).toBe("timeout");
});
