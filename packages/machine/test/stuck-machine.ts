// A machine that gets stuck, for a test to kill: `node stuck-machine.ts <root> deleting|making`. It says so on its
// output once what it was asked for is half done.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openMachine } from "../src/index.ts";
import { scriptedHarness } from "./scripted.ts";

const [root = "", moment = ""] = process.argv.slice(2);
const home = join(root, "home");
mkdirSync(home, { recursive: true });
const stuck = Promise.withResolvers<void>();
const machine = await openMachine({
  stateDir: join(root, "state"),
  home,
  env: { PATH: process.env["PATH"] },
  harnesses: [
    scriptedHarness({
      script: [{ hang: true }],
      hangs: ["close", "settingsChanged"],
      outlives: true,
      told: () => stuck.resolve(),
    }),
  ],
  report: (error) => console.error(error),
});
const wish = { name: "a", dir: "~/a" };
if (moment === "making") {
  void machine.sessions.create({ ...wish, auto_approve: true });
  await stuck.promise;
} else {
  const seat = await machine.sessions.create(wish);
  await seat.send({ text: "go on for ever" });
  await stuck.promise;
  // By the generic door: the agent goes after its session, once its process has ended.
  await seat.session.delete();
}
const [kept] = machine.owner.kept();
console.log(kept?.agent);
setInterval(() => {}, 1_000);
