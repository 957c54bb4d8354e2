// Takes the lease of the store named by its argument, says so, and holds it until it is killed.

import { acquireLease } from "../../src/host/node/index.ts";

try {
  await acquireLease(process.argv[2]!);
  process.stdout.write("held\n");
  setInterval(() => {}, 60_000);
} catch (error) {
  process.stdout.write(`refused ${String(error)}\n`);
}
