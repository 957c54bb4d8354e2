// A host that is killed in the middle of a run, for tests: `node killed-host.ts FOLDER MOMENT PROMPT`. Moments: `process`
// (the agent's process is recorded), `prompt` (it asks a person), `joined` (a steer has joined the run, and is not sent).

import type { Engine, Run } from "@lichen/runtime";
import { Rig } from "./rig.ts";

const [folder = "", moment = "", prompt = ""] = process.argv.slice(2);

const die = (): never => {
  process.kill(process.pid, "SIGKILL");
  throw new Error("It was not killed.");
};

/** Dies as soon as steers have joined. */
const diesOnSteers = (engine: Engine): Engine => ({
  ...engine,
  open(session, host) {
    const connection = engine.open(session, host);
    return {
      stays: true,
      close: () => connection.close(),
      run: (work, run) =>
        connection.run(
          work,
          new Proxy(run, {
            get(target, name) {
              const value: unknown = Reflect.get(target, name, target);
              if (name === "steers") return steersOf(target);
              return typeof value === "function" ? value.bind(target) : value;
            },
          }),
        ),
    };
  },
});

function steersOf(run: Run): Run["steers"] {
  return async () => {
    const steers = await run.steers();
    return steers.length > 0 ? die() : steers;
  };
}

const rig = await Rig.at(folder, moment === "joined" ? { wrap: diesOnSteers } : {});
await rig.begin(prompt);
if (moment === "joined") {
  await rig.noted("waits");
  await rig.send({ type: "prompt", text: "a steer", delivery: "steer" });
  rig.release("go");
}
for await (const frame of rig.session.watch()) {
  if (frame.type === "partial" || frame.type === "state") continue;
  const { entries, approvals } = await rig.session.read();
  const isThere = (kind: string) => entries.some((entry) => entry.kind === kind);
  if (moment === "process" ? isThere("harness.process") : approvals.length > 0) die();
}
