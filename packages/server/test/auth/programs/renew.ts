// One process that holds a version and renews it when it is told to: renew.ts <path of credentials.db> <resource> <lease ms>

import { createInterface } from "node:readline";
import { openAuth } from "../../../src/auth/host/index.ts";

const [path = "", resource = "", leaseMs = ""] = process.argv.slice(2);
const auth = await openAuth({
  path,
  agentId: "agent1",
  env: {},
  configOf: (id) => (id === "mail" ? { auth: { type: "oauth" }, resource } : undefined),
  ...(leaseMs !== "" && { leaseMs: Number(leaseMs) }),
});
const { signal } = new AbortController();
const held = await auth.resolver.resolve({ id: "mail" }, signal);
const version = held.ok && held.auth.kind === "oauth" ? held.auth.version : "";
process.stdout.write("ready\n");
for await (const line of createInterface({ input: process.stdin })) {
  if (line !== "refresh") continue;
  const result = await auth.resolver.refresh({ id: "mail" }, version, signal);
  process.stdout.write(`${JSON.stringify(result)}\n`);
  break;
}
await auth.close();
