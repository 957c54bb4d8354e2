// Lets few of the kit's clients run at once: it starts one for each scenario, all at the same moment. Each waits here for a
// place, which is a folder that it makes. Plain JavaScript, since it is started as often.

import { spawn } from "node:child_process";
import { mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";

const [, , client, ...args] = process.argv;
const places = Array.from({ length: 2 }, (_, n) => join(process.env.HOME, `place-${n}`));

for (;;) {
  const place = places.find(isTaken);
  if (place === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    continue;
  }
  const child = spawn(process.execPath, [client, ...args], { stdio: "inherit" });
  const stop = () => child.kill("SIGKILL");
  process.on("SIGTERM", stop);
  const code = await new Promise((resolve) => child.once("close", (ended) => resolve(ended ?? 1)));
  rmdirSync(place);
  process.exit(code);
}

function isTaken(place) {
  try {
    mkdirSync(place);
    return true;
  } catch {
    return false;
  }
}
