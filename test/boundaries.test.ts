// The rooms: which package may import what, and where a platform's own modules may appear.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = new URL("..", import.meta.url).pathname;

/** What each room may import beside its own files, from the table of the architecture. */
const mayImport: Record<string, readonly string[]> = {
  "packages/wire": ["zod"],
  "packages/capability": [],
  "packages/runtime": ["@lichen/capability", "@lichen/wire"],
  "packages/client": ["@lichen/wire", "eventsource-parser"],
  "packages/engine": [
    "@lichen/capability",
    "@lichen/runtime",
    "@lichen/wire",
    "@agentclientprotocol/sdk",
    "quickjs-wasi",
    "@earendil-works/pi-ai",
    "@earendil-works/pi-agent-core",
    "zod",
  ],
  "packages/server": [
    "@lichen/capability",
    "@lichen/engine",
    "@lichen/runtime",
    "@lichen/wire",
    "@modelcontextprotocol/client",
    "oauth4webapi",
    "hono",
    "@hono/node-server",
    "yaml",
    "zod",
  ],
  "packages/machine": [
    "@lichen/client",
    "@lichen/engine",
    "@lichen/runtime",
    "@lichen/server",
    "@lichen/wire",
    "hono",
    "zod",
  ],
  "apps/cli": [
    "@lichen/capability",
    "@lichen/client",
    "@lichen/engine",
    "@lichen/machine",
    "@lichen/runtime",
    "@lichen/server",
    "@lichen/wire",
    "@earendil-works/pi-tui",
    "uqr",
  ],
};

interface Import {
  readonly file: string;
  readonly from: string;
}

function importsOf(room: string): Import[] {
  const folder = join(root, room, "src");
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file) && !/\.(test|contract)\.tsx?$/.test(file))
    .flatMap((file) =>
      [
        ...readFileSync(join(folder, file), "utf8").matchAll(
          /^(?:import|export)\b[^;]*?\bfrom\s+"([^"]+)"|\bimport\(\s*"([^"]+)"|^import\s+"([^"]+)"/gms,
        ),
      ].map((match) => ({ file, from: (match[1] ?? match[2] ?? match[3])! })),
    );
}

for (const [room, allowed] of Object.entries(mayImport)) {
  const imports = importsOf(room);

  test(`[W20] ${room} imports only what the table of rooms allows it`, () => {
    expect(imports.length).toBeGreaterThan(0);
    const strangers = imports.filter(
      ({ from }) =>
        !/^(\.|node:|cloudflare:)/.test(from) &&
        !allowed.some((name) => from === name || from.startsWith(`${name}/`)),
    );
    expect(strangers.filter(({ file }) => !file.startsWith("testing/"))).toEqual([]);
  });

  test(`[W21] ${room} reaches a platform's modules only where a host lives`, () => {
    const leaks = imports.filter(
      ({ file, from }) =>
        /^(node|cloudflare):/.test(from) &&
        !room.startsWith("apps/") &&
        // A machine is one computer: all of it runs there.
        room !== "packages/machine" &&
        !/(^|\/)host\//.test(file) &&
        !file.startsWith("testing/"),
    );
    expect(leaks).toEqual([]);
  });
}

test("[W22] no file of the packages imports another package by a path into its sources", () => {
  const paths = Object.keys(mayImport).flatMap((room) =>
    importsOf(room).filter(({ from }) => /^(\.\.\/)+(packages|apps)\//.test(from)),
  );
  expect(paths).toEqual([]);
});
