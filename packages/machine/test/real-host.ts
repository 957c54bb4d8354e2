// A machine with the real coding agents in a process of its own, to be killed: `node real-host.ts ROOT ENV`. It says where it
// listens, and its owner's token, in one line.

import { ownHarnesses } from "../src/index.ts";
import { Rig } from "./rig.ts";

const [root = "", env = "{}"] = process.argv.slice(2);
const rig = await Rig.open({
  root,
  harnesses: ownHarnesses(),
  env: JSON.parse(env) as Record<string, string>,
});
console.log(JSON.stringify({ url: rig.host.url, token: rig.host.token }));
