// Names: friendly, unique, stable, never reused; and the surface as a pure value of the rows.

import { Script } from "node:vm";
import fc from "fast-check";
import { expect, test } from "vitest";
import { buildSurface, NamespaceAllocator, Registry } from "../../src/index.ts";
import { codeOf, context, Host, read, Server, wish, write } from "./host.ts";

function isIdentifier(name: string): boolean {
  try {
    // An arrow function's parameter may be no reserved word.
    return new Script(`"use strict"; (${name}) => ${name}`) instanceof Script;
  } catch {
    return false;
  }
}

test("[G15] any text becomes a friendly identifier", () => {
  const names = new NamespaceAllocator();
  const made = [
    "github",
    "My notes!",
    "2fa",
    "Müller & Söhne",
    "日本語",
    "repos/list-for-org",
    "$",
  ];
  expect(made.map((text, at) => names.allocate(text, String(at)))).toEqual([
    "github",
    "My_notes",
    "_2fa",
    "Muller_Sohne",
    "connection",
    "repos_list_for_org",
    "connection2",
  ]);
  for (const taken of ["class", "Promise", "await", "JSON", "console", "globalThis", "arguments"])
    expect(names.allocate(taken, "x")).toBe(`${taken}2`);
});

test("[G15] whatever text is preferred, the name is an identifier of at most 64 characters", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(fc.string({ unit: "grapheme" }), fc.string({ minLength: 60, maxLength: 90 })),
      ),
      (texts) => {
        const names = new NamespaceAllocator();
        const made = texts.map((text, at) => names.allocate(text, String(at)));
        for (const name of made)
          expect([name, isIdentifier(name), name.length <= 64]).toEqual([name, true, true]);
        expect(new Set(made.map((name) => name.toLowerCase())).size).toBe(made.length);
      },
    ),
  );
});

test("[G15] no operation is called like what every object has, and none makes a promise of its namespace", async () => {
  const host = new Host();
  const server = host.server("a");
  server.operations = ["then", "constructor", "__proto__", "toString", "delete", "x/y", "x-y"].map(
    write,
  );
  const registry = await host.open();
  await registry.attach(wish("a"));
  const { operations } = registry.surface().namespaces[0]!;
  expect(operations.map(({ name, property }) => [name, property]).toSorted(byName)).toEqual([
    ["__proto__", "proto"],
    ["constructor", "constructor2"],
    ["delete", "delete"],
    ["then", "then2"],
    ["toString", "toString2"],
    ["x-y", "x_y2"],
    ["x/y", "x_y"],
  ]);
});

test("[G16] a property stays its operation's own, also while that is gone", async () => {
  const host = new Host();
  const server = host.server("a");
  server.operations = [write("x/y"), write("x-y")];
  const registry = await host.open();
  const { id } = await registry.attach(wish("a"));
  server.operations = [write("x-y"), read("x.y")];
  await registry.refresh(id);
  const properties = () =>
    Object.fromEntries(registry.show(id).operations.map(({ name, property }) => [name, property]));
  expect(properties()).toEqual({ "x-y": "x_y2", "x.y": "x_y3" });
  const again = await host.open();
  server.operations = [write("x/y"), write("x-y"), read("x.y")];
  await again.refresh(id);
  expect(again.show(id).operations.map(({ name, property }) => `${name} ${property}`)).toEqual([
    "x/y x_y",
    "x-y x_y2",
    "x.y x_y3",
  ]);
});

test("[G16] a property stays its operation's own where its capability ends and comes back", async () => {
  const host = new Host();
  const server = host.server("a");
  server.operations = [write("x/y"), write("x-y")];
  const registry = await host.open();
  await registry.attach(wish("a", { id: "own" }));
  await registry.detach("own");
  server.operations = [write("x-y"), write("x.y")];
  const { operations } = await registry.attach(wish("a", { id: "own", again: true }));
  expect(operations.map(({ name, property }) => `${name} ${property}`)).toEqual([
    "x-y x_y2",
    "x.y x_y3",
  ]);
});

test("[G15] ten thousand operations whose names read alike are named in a moment", async () => {
  const host = new Host();
  const server = host.server("a");
  server.operations = Array.from({ length: 10_000 }, (_, at) =>
    write(String.fromCodePoint(0x4e00 + at)),
  );
  const registry = await host.open();
  const begun = process.cpuUsage();
  const { operations } = await registry.attach(wish("a"));
  expect(process.cpuUsage(begun).user).toBeLessThan(2_000_000);
  expect(new Set(operations.map(({ property }) => property)).size).toBe(10_000);
  expect(operations.find(({ name }) => name === "\u4e01")?.property).toBe("operation2");
});

test("[G16] names are unique and never another's, through renames, ends and restarts", async () => {
  const host = new Host();
  for (const name of ["a", "b", "c", "d", "e"]) host.server(name, new Server("github"));
  let registry = await host.open();
  const one = await registry.attach(wish("a"));
  const two = await registry.attach(wish("b"));
  expect([one.namespace, two.namespace]).toEqual(["github", "github2"]);
  await registry.rename(one.id, "hub");
  expect((await registry.attach(wish("c"))).namespace).toBe("github3");
  await registry.detach(two.id);
  registry = await host.open();
  expect((await registry.attach(wish("d"))).namespace).toBe("github4");
  expect((await registry.attach(wish("e", { namespace: "hub" }))).namespace).toBe("hub2");
  // Its own name of before is still its own.
  expect((await registry.rename(one.id, "github")).namespace).toBe("github");
  // What was attached by hand is never called like a key that another one's grants go by.
  const shared = await registry.attach(wish("a", { id: "own", namespace: "mine", grant: "team" }));
  expect([shared.grant, shared.namespace]).toEqual(["team", "mine"]);
  expect((await registry.attach(wish("b", { namespace: "team" }))).namespace).toBe("team2");
});

test("[G17] a rename is told with both names, and the name of before calls nothing", async () => {
  const host = new Host();
  const server = host.server("a", new Server("github"));
  const registry = await host.open();
  const { id } = await registry.attach(wish("a"));
  await registry.rename(id, "hub");
  await registry.rename(id, "forge");
  expect(host.events.at(-1)).toMatchObject({
    revision: 3,
    notices: [{ id, from: "hub", to: "forge" }],
  });
  expect(registry.surface().renamed).toEqual({ github: "forge", hub: "forge" });
  const again = await host.open();
  for (const old of ["github", "hub"]) {
    const call = again.call(old, "act", {}, context);
    await expect(call).rejects.toThrow(`${old} is called forge now`);
    expect(await codeOf(again.call(old, "act", {}, context))).toBe("renamed");
    expect(() => again.show(old)).toThrow("forge");
  }
  expect(server.calls).toEqual([]);
  expect(await again.call("forge", "act", {}, context)).toBe("did act");
});

type Step = readonly [
  move: "attach" | "detach" | "rename" | "label" | "list" | "restart",
  which: number,
  text: string,
];

const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom("attach", "detach", "rename", "label", "list", "restart"),
  fc.nat({ max: 4 }),
  fc.constantFrom("github", "GitHub", "notes", "my notes", "class", "日本", "x2", "x"),
);

test("[G18] whatever happened, the surface is the same for the rows in any order, and after a restart; names stay unique", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 20 }),
      fc.infiniteStream(fc.nat()),
      async (steps, order) => {
        const host = new Host();
        const owners = new Map<string, string>();
        let registry: Registry = await host.open();
        let count = 0;
        for (const [move, which, text] of steps) {
          const list = registry.list();
          const row = list[which % Math.max(1, list.length)];
          if (move === "attach") {
            host.server(`s${++count}`, new Server(text));
            await registry.attach(wish(`s${count}`));
          } else if (move === "restart") registry = await host.open();
          else if (!row) continue;
          else if (move === "detach") await registry.detach(row.id);
          else if (move === "rename") await registry.rename(row.id, text);
          else if (move === "label") await registry.change(row.id, { labels: { act: "confirm" } });
          else {
            const name = JSON.parse(JSON.stringify(row.config["server"])) as string;
            host.named(name).operations = [write(text), read("look"), write("act")];
            await registry.refresh(row.id);
          }
          for (const { namespace, id } of registry.list()) {
            expect(owners.get(namespace) ?? id).toBe(id);
            owners.set(namespace, id);
          }
          expect(host.events.map(({ revision }) => revision)).toEqual(
            Array.from({ length: registry.surface().revision }, (_, n) => n + 1),
          );
        }
        const surface = registry.surface();
        const rows = host.rows();
        const shuffled = rows
          .map((it) => [order.next().value as number, it] as const)
          .sort(([a], [b]) => a - b)
          .map(([, it]) => it);
        expect(buildSurface(shuffled)).toEqual(surface);
        expect(JSON.stringify(buildSurface(shuffled))).toBe(JSON.stringify(surface));
        expect((await host.open()).surface()).toEqual(surface);
        const digests = new Map(host.events.map(({ digest, revision }) => [revision, digest]));
        expect(digests.size).toBe(surface.revision);
        await registry.close();
      },
    ),
    { numRuns: 60 },
  );
});

function byName([a = ""]: readonly string[], [b = ""]: readonly string[]): number {
  return a < b ? -1 : 1;
}
