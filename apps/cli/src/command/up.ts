// `lichen up`: this computer's machine, from its opening to the end of its drain.

import { flushCompileCache } from "node:module";
import { onStopSignal } from "@lichen/server/node";
import type { Input } from "../command.ts";
import { describeModel, describeSandbox } from "../folder-told.ts";
import { Environments } from "../environment.ts";
import { listeningOptions, tellReach } from "../listening-options.ts";
import { type Log, openLog } from "../log.ts";
import { chooseFolders, type Chosen } from "../machine/chosen-folders.ts";
import { machineDirOf } from "../machine/machine-dir.ts";
import { openUp, type Up } from "../machine/open-up.ts";
import type { ServedFolder } from "../machine/served-folders.ts";
import { describeStray, end } from "../own-host.ts";
import { StrayFaults } from "../stray-faults.ts";
import type { Terminal } from "../terminal.ts";
import { commandName, samePlace } from "../typed.ts";

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const log = openLog(terminal, "info");
  const stateDir = machineDirOf(input);
  const environments = new Environments();
  const chosen = await chooseFolders(stateDir, input.values("folder"), input.values("without"));
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  const ignoreSignals = onStopSignal((signal) => {
    log("info", `${signal}: taking no more work; what still runs goes on at the next start`);
    stop();
  });
  const strays = new StrayFaults();
  const leave = strays.take({
    dirs: chosen.folders.map(({ place }) => place.dir),
    left: (fault) => log("error", describeStray(fault)),
    broken: (error) => end(log, "this is a bug of Lichen, please report it", error),
  });
  const options = listeningOptions(input);
  const up = await openUp({
    stateDir,
    ...{ log, chosen, environments },
    around: (engine) => strays.around(engine),
    listening: options,
  });
  const { listening } = up;
  if (input.flag("json"))
    terminal.answer(`${JSON.stringify({ url: listening.url, token: listening.token })}\n`);
  tellReach(
    {
      ...{ who: "this machine", listening, options, inMeshes: up.inMeshes },
      admitted: "Its token and the keys of devices that you paired are let in, and nobody else.",
    },
    log,
  );
  await welcome(up, chosen, input, log);
  // A host may never end by itself, so the cache is written now.
  flushCompileCache();
  await stopped;
  await listening.drain();
  leave();
  ignoreSignals();
  return 0;
}

async function welcome(up: Up, chosen: Chosen, input: Input, log: Log): Promise<void> {
  const { machine, folders, wall } = up;
  const look = machine.harnesses.look().filter(({ harness }) => !harness.takesCommand);
  const found = look.filter(({ found: { missing } }) => missing === undefined);
  for (const { harness } of found) log("info", `found: ${harness.title}`);
  for (const { found: it } of look)
    if (it.missing !== undefined) log(found.length === 0 ? "warn" : "info", it.missing);
  log(
    "info",
    wall.kind === "bubblewrap"
      ? "sandbox: bubblewrap hides the machine's state and keys from its coding agents"
      : `sandbox: none. ${wall.reason ?? ""} Coding agents run as you and could read the machine's token: a hindrance, not a wall.`,
  );
  for (const it of folders) await tellFolder(it, log);
  for (const problem of [...chosen.problems, ...up.problems]) log("warn", problem);
  log("info", `state: ${machine.stateDir}`);
  const sessions = machine.sessions.list().length;
  const place = samePlace(input);
  const next =
    sessions > 0 || folders.length > 0
      ? `${commandName()} ps${place}`
      : `${commandName()} new demo .${place}${found.length === 0 ? " --harness acp -- <an agent's command>" : ""}`;
  log("info", `\nNow, in another terminal:\n  ${next}`);
}

async function tellFolder(it: ServedFolder, log: Log): Promise<void> {
  const { agent, models } = it;
  log("info", `agent ${agent.name}: ${agent.agent}, from ${it.place.dir}`);
  const model = await models.whichModel(it.model());
  log("info", `  model: ${describeModel(model)}`);
  if (model.state === "missing") log("warn", `${agent.name}: ${model.why}`);
  log("info", `  sandbox: ${await describeSandbox(it)}`);
}
