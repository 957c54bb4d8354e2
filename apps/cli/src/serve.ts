// `start` and `dev`: a host of one agent folder, from its opening to the end of its drain.

import { flushCompileCache } from "node:module";
import type { ModelChoice } from "@lichen/engine";
import {
  connectHost,
  type Host,
  listenHost,
  type Listening,
  onStopSignal,
  openHost,
  readHostFile,
} from "@lichen/server/node";
import { Fault } from "@lichen/wire";
import type { Input } from "./command.ts";
import type { Log } from "./log.ts";
import { modelNamed, variable } from "./model-name.ts";
import { type Place, placeOf } from "./place.ts";
import { describeProblem } from "./problem.ts";
import type { Terminal } from "./terminal.ts";

export interface ServeOptions {
  readonly log: Log;
  /** Called once the host listens; the answer is called before it drains. */
  readonly whileServing?: (host: Host) => () => void;
}

/** Serves until a signal asks it to stop; answers 0 then. */
export async function serve(
  input: Input,
  terminal: Terminal,
  options: ServeOptions,
): Promise<number> {
  const { log } = options;
  const place = await placeOf(input);
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  const ignoreSignals = onStopSignal((signal) => {
    log("info", `${signal}: taking no more work; what still runs goes on at the next start`);
    stop();
  });
  const host = await open(input, place, log);
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
  const stopServing = options.whileServing?.(host);
  model ??= await host.models.whichModel();
  welcome(input, host, listening, model, log);
  // A host may never end by itself, so the cache is written now.
  flushCompileCache();
  await stopped;
  stopServing?.();
  await listening.drain();
  ignoreSignals();
  return 0;
}

async function open(input: Input, place: Place, log: Log): Promise<Host> {
  const { dir, stateDir } = place;
  const model = modelNamed(input.value("model"));
  try {
    return await openHost({
      dir,
      state: stateDir,
      env: variable,
      ...(model === undefined ? {} : { model }),
      onDiagnostics: (diagnostics) => {
        for (const diagnostic of diagnostics) log(...describeProblem(diagnostic));
      },
      report: (error) => {
        log(
          "error",
          `the host cannot go on: ${error instanceof Error ? error.stack : String(error)}`,
        );
        process.exit(1);
      },
    });
  } catch (error) {
    throw (Fault.is(error) && error.code === "unavailable" && (await holderOf(stateDir))) || error;
  }
}

/** The refusal that names who serves this state, where that can be told. */
async function holderOf(stateDir: string): Promise<Fault | undefined> {
  const file = readHostFile(stateDir);
  const connection = await connectHost(stateDir);
  if (file === undefined || connection.found !== "host") return undefined;
  return new Fault(
    "unavailable",
    `This agent is served already, by process ${file.pid} at ${file.url}. ` +
      "Use that one, stop it first, or name another state with --state.",
  );
}

async function listen(input: Input, host: Host, log: Log): Promise<Listening> {
  const { config } = host;
  const port = input.value("port") ?? config.http?.port;
  const bind = input.value("bind") ?? config.http?.host;
  const listening = await listenHost({
    owner: host.owner,
    stateDir: host.stateDir,
    platform: host.platform,
    log: ({ id, error, method, path }) => {
      log(
        "error",
        `${id} in ${method} ${path}: ${error instanceof Error ? error.stack : String(error)}`,
      );
    },
    ...(port === undefined ? {} : { port: Number(port) }),
    ...(bind === undefined ? {} : { bind: bind === "localhost" ? "127.0.0.1" : bind }),
    ...(config.publicUrl === undefined ? {} : { publicUrl: config.publicUrl }),
    ...(config.allowedHosts === undefined ? {} : { allowedHosts: config.allowedHosts }),
    close: (options) => host.close(options),
  });
  const { taken } = listening;
  if (taken !== undefined) {
    log(
      "warn",
      `port ${taken.port} is taken by ${taken.holder ?? "another program"}; a free one is used`,
    );
  }
  return listening;
}

function welcome(
  input: Input,
  host: Host,
  listening: Listening,
  model: ModelChoice,
  log: Log,
): void {
  log("info", `${host.agent.name} listens on ${listening.url}`);
  log("info", `model: ${describeModel(model)}`);
  if (model.state === "missing") log("warn", model.why);
  log("info", `sandbox: ${describeSandbox(host)}`);
  log("info", `state: ${host.stateDir}`);
  for (const diagnostic of host.diagnostics) log(...describeProblem(diagnostic));
  const dir = input.argument("dir");
  const there = dir === undefined ? "" : ` ${dir}`;
  log("info", `\nNow, in another terminal:\n  lichen invoke "What can you do?"${there}`);
}

function describeModel(choice: ModelChoice): string {
  if (choice.state === "missing") return `${choice.spec}, which has no key yet`;
  if (!choice.isDemo) return `${choice.spec}. ${choice.why}`;
  return (
    "demo, which is no language model: a few built-in rules that can call the agent's tools. For a real one " +
    "set ANTHROPIC_API_KEY, OPENAI_API_KEY or another provider's key (in the environment or in .secrets/.env) " +
    "and start again; `lichen models` lists what there is."
  );
}

function describeSandbox(host: Host): string {
  const sandbox = host.sandbox();
  if (sandbox === undefined) return "not needed, the agent has no coding tools";
  if (sandbox.kind === "bubblewrap")
    return "bubblewrap hides the state and the credentials from the agent's commands";
  return `none. ${sandbox.reason ?? ""} The agent's file tools refuse the state and the credentials, but its \`bash\` runs as you: a hindrance, not a wall.`;
}
