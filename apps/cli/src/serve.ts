// `start` and `dev`: a host of one agent folder, from its opening to the end of its drain.

import { flushCompileCache } from "node:module";
import type { ModelChoice } from "@lichen/engine";
import { type Host, listenHost, type Listening, onStopSignal } from "@lichen/server/node";
import type { Input } from "./command.ts";
import { describeError } from "./fault-text.ts";
import { describeModel, describeSandbox } from "./folder-told.ts";
import { listeningOptions, tellReach } from "./listening-options.ts";
import type { Log } from "./log.ts";
import { modelNamed } from "./model-name.ts";
import { openOwnHost } from "./own-host.ts";
import { placeOf } from "./place.ts";
import { Problems } from "./problem.ts";
import type { Terminal } from "./terminal.ts";
import { commandName, samePlace } from "./typed.ts";
import { Fault } from "@lichen/wire";

export interface ServeOptions {
  readonly log: Log;
  /** Called once the host listens; the answer is called before it drains. */
  readonly whileServing?: (host: Host, problems: Problems) => () => void;
}

/** Serves until a signal asks it to stop; answers 0 then. */
export async function serve(
  input: Input,
  terminal: Terminal,
  options: ServeOptions,
): Promise<number> {
  const { log } = options;
  const place = await placeOf(input);
  if (place.isKept) throw servedByMachine(place.agentId);
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  const ignoreSignals = onStopSignal((signal) => {
    log("info", `${signal}: taking no more work; what still runs goes on at the next start`);
    stop();
  });
  const problems = new Problems(log);
  const named = modelNamed(input.value("model"));
  const host = await openOwnHost(place, {
    log,
    ...(named === undefined ? {} : { model: named }),
    onDiagnostics: (diagnostics) => problems.tell(diagnostics),
  });
  let listening: Listening;
  let model: ModelChoice | undefined;
  try {
    // A model that was named must exist; which one is best of all can wait until the host listens.
    if (host.model() !== undefined) model = await host.models.whichModel(host.model());
    listening = await listen(input, host, log);
  } catch (error) {
    await host.close({ patienceMs: 0 });
    throw error;
  }
  if (input.flag("json")) {
    terminal.answer(`${JSON.stringify({ url: listening.url, token: listening.token })}\n`);
  }
  const stopServing = options.whileServing?.(host, problems);
  model ??= await host.models.whichModel();
  tellReach(
    {
      ...{ who: host.agent.name, listening, options: listeningOptions(input, host.config) },
      admitted: "Who shows its token is let in.",
    },
    log,
  );
  await welcome(host, model, log);
  problems.tell(host.diagnostics);
  log(
    "info",
    `\nNow, in another terminal:\n  ${commandName()} invoke "What can you do?"${samePlace(input)}`,
  );
  // A host may never end by itself, so the cache is written now.
  flushCompileCache();
  await stopped;
  stopServing?.();
  await listening.drain();
  ignoreSignals();
  return 0;
}

function listen(input: Input, host: Host, log: Log): Promise<Listening> {
  return listenHost({
    owner: host.owner,
    stateDir: host.stateDir,
    platform: host.platform,
    log: ({ id, error, method, path }) => {
      log("error", `${id} in ${method} ${path}: ${describeError(error)}`);
    },
    ...listeningOptions(input, host.config),
    close: (options) => host.close(options),
  });
}

async function welcome(host: Host, model: ModelChoice, log: Log): Promise<void> {
  log("info", `model: ${describeModel(model)}`);
  if (model.state === "missing") log("warn", model.why);
  log("info", `sandbox: ${await describeSandbox(host)}`);
  log("info", `state: ${host.stateDir}`);
}

/** A second host of its conversations would keep the machine from serving them. */
function servedByMachine(id: string): Fault {
  return new Fault(
    "invalid",
    `This computer's machine serves this agent: \`${commandName()} up\` starts that. To serve it alone, let it go with \`${commandName()} up --without ${id}\`, or name a state of its own with --state.`,
  );
}
