// How a capability authenticates, as its row says it.

import { expect, test } from "vitest";
import type { AuthConfig } from "../../src/index.ts";
import { Host, wish } from "./host.ts";

test("[G19] auth that holds a secret where its name belongs is refused, without a word of it", async () => {
  const host = new Host();
  host.server("a");
  const registry = await host.open();
  const canary = "sk-canary 1234";
  const wrongs: unknown[] = [
    { type: "header", secret: canary },
    { type: "header", secret: "TOKEN", format: canary },
    { type: "header", secret: "TOKEN", [canary]: "x" },
    { type: "header" },
    { type: canary },
    { type: "oauth", issuer: canary },
    {
      type: "client_credentials",
      issuer: "https://a.example",
      clientId: "c",
      clientSecret: canary,
    },
    canary,
  ];
  for (const auth of wrongs) {
    const refused = registry.attach(wish("a", { auth: auth as AuthConfig }));
    await expect(refused).rejects.toThrow(/auth/);
    await expect(refused).rejects.not.toThrow(canary);
  }
  expect(host.rows()).toEqual([]);
  const auth = { type: "header", secret: "TOKEN", format: "Bearer {}" } as const;
  expect((await registry.attach(wish("a", { auth }))).auth).toEqual(auth);
});
