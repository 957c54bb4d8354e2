import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "node",
          include: ["{packages,apps}/*/{src,test}/**/*.test.ts", "test/**/*.test.ts"],
          isolate: false,
          pool: "threads",
          testTimeout: 30_000,
          // Agent folders of tests are loaded by Node itself, as everywhere else.
          server: { deps: { external: [/\/lichen-folder-/] } },
        },
      },
      {
        plugins: [
          cloudflareTest({ wrangler: { configPath: "./packages/runtime/workers/wrangler.jsonc" } }),
        ],
        test: {
          name: "workers",
          include: ["packages/*/workers/**/*.workers.test.ts"],
          testTimeout: 60_000,
        },
      },
    ],
  },
});
