// `lichen login`: keys and logins of model providers, listed, stored and forgotten.

import type { Models } from "@lichen/engine";
import { credentialsPath, onStopSignal } from "@lichen/server/node";
import { Fault } from "@lichen/wire";
import { type Input, UsageError } from "../command.ts";
import { acceptedKey, atTerminal, BrokenOff, lineTyped, withKey } from "../login/interaction.ts";
import { readKey } from "../login/stdin.ts";
import { nearest } from "@lichen/server/nearest";
import { ownModels } from "../own-models.ts";
import { oneLine } from "../printable.ts";
import type { Terminal } from "../terminal.ts";
import { commandName } from "../typed.ts";

type Listed = Awaited<ReturnType<Models["listProviders"]>>[number];
type Way = Listed["ways"][number];

const patienceMs = 15 * 60_000;

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const named = input.argument("provider");
  refuseNonsense(input, named);
  const models = await ownModels();
  const providers = await models.listProviders();
  const ask = named === undefined && terminal.canAsk && !input.flag("list") && !input.flag("json");
  if (named === undefined) terminal.answer(input.flag("json") ? json(providers) : table(providers));
  if (named === undefined && !ask) return listed(input, terminal);
  const stop = new AbortController();
  const ignoreSignals = onStopSignal(() => stop.abort());
  const breakOff = () => stop.abort();
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(patienceMs)]);
  try {
    const id = named ?? (await lineTyped("Sign in to which one? ", signal, breakOff)).trim();
    const provider = known(id, providers);
    if (input.flag("remove")) return await remove(models, provider, terminal);
    await signIn(models, provider, input, terminal, { signal, breakOff });
    return 0;
  } catch (error) {
    if (stop.signal.aborted || error instanceof BrokenOff) {
      terminal.say("Nothing was stored.");
      return stop.signal.aborted ? 130 : 1;
    }
    if (signal.aborted)
      throw new Fault("invalid", "The login took too long and was given up: nothing was stored.", {
        cause: error,
      });
    throw toFault(error);
  } finally {
    ignoreSignals();
  }
}

function refuseNonsense(input: Input, named: string | undefined): void {
  const refuse = (message: string): never => {
    throw new UsageError(`login: ${message}`, "login");
  };
  const isRemoving = input.flag("remove");
  if (named === undefined && isRemoving) refuse("--remove needs a provider");
  if (named === undefined && input.flag("key-stdin")) refuse("--key-stdin needs a provider");
  if (named !== undefined && input.flag("list")) refuse("--list takes no provider");
  if (isRemoving && input.flag("key-stdin")) refuse("--remove and --key-stdin exclude each other");
  if (named !== undefined && input.flag("json")) refuse("--json is for the list");
  if (input.flag("key-stdin") && process.stdin.isTTY)
    refuse("--key-stdin reads a file or a pipe; leave it out to be asked");
}

function listed(input: Input, terminal: Terminal): number {
  if (input.flag("list") || input.flag("json")) return 0;
  terminal.say(
    `lichen: nobody can be asked here: name a provider in a terminal, or give a key with \`${commandName()} login <provider> --key-stdin\``,
  );
  return 1;
}

function known(id: string, providers: readonly Listed[]): Listed {
  const provider = providers.find((it) => it.id === id);
  if (provider) return provider;
  const meant = nearest(
    id,
    providers.map((it) => it.id),
  );
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  throw new UsageError(
    `login: there is no such provider${hint} (${commandName()} login --list names them). A key is never an argument: it is asked for, or read with --key-stdin.`,
    "login",
  );
}

interface Patience {
  readonly signal: AbortSignal;
  readonly breakOff: () => void;
}

async function signIn(
  models: Models,
  provider: Listed,
  input: Input,
  terminal: Terminal,
  { signal, breakOff }: Patience,
): Promise<void> {
  const { id } = provider;
  if (input.flag("key-stdin")) {
    await models.login(id, withKey(acceptedKey(await readKey()), signal), "key");
  } else {
    if (!terminal.canAsk)
      throw new Fault(
        "invalid",
        `Nobody can be asked here: run \`${commandName()} login ${id}\` in a terminal, or give a key with --key-stdin.`,
      );
    const interaction = atTerminal(terminal, signal, breakOff);
    const way = await wayOf(provider, interaction);
    await models.login(id, interaction, way);
  }
  const ready = (await models.listModels()).filter(
    ({ spec, isReady }) => isReady && spec.startsWith(`${id}/`),
  ).length;
  terminal.say(
    `${provider.name}: stored in ${credentialsPath()}. ${ready} of its models can be used: ${commandName()} models ${id}`,
  );
}

async function wayOf(
  { name, ways }: Listed,
  interaction: ReturnType<typeof atTerminal>,
): Promise<Way | undefined> {
  if (ways.length < 2) return ways[0];
  const id = await interaction.prompt({
    type: "select",
    message: `How do you sign in to ${name}?`,
    options: [
      { id: "account", label: "with an account, in a browser" },
      { id: "key", label: "with a key" },
    ],
  });
  return id === "account" ? "account" : "key";
}

async function remove(
  models: Models,
  { id, name, found }: Listed,
  terminal: Terminal,
): Promise<number> {
  await models.logout(id);
  const still = (await models.listProviders()).find((it) => it.id === id)?.found;
  terminal.say(
    [
      found?.isStored === true ? `${name}: forgotten.` : `${name}: nothing was stored.`,
      ...(still?.source === undefined ? [] : [`A key is still found in ${still.source}.`]),
    ].join(" "),
  );
  return 0;
}

function json(providers: readonly Listed[]): string {
  return `${JSON.stringify(providers)}\n`;
}

/** One provider a line; those that something is at hand for come first. */
function table(providers: readonly Listed[]): string {
  const width = Math.max(...providers.map(({ id }) => id.length));
  return providers
    .toSorted((a, b) => Number(b.found !== undefined) - Number(a.found !== undefined))
    .map((provider) => `${provider.id.padEnd(width)}  ${stateOf(provider)}\n`)
    .join("");
}

function stateOf({ found, ways, variables }: Listed): string {
  if (found) {
    const kind = found.way === "account" ? "account" : "key";
    return found.isStored
      ? `logged in with a stored ${kind}`
      : `${kind} found (${found.source ?? "at hand"})`;
  }
  const places = variables.length > 0 ? variables.slice(0, 2).join(" or ") : "models.json";
  if (ways.length === 0) return `not ready; set ${places}`;
  return `not ready; takes ${ways.map((way) => (way === "key" ? "a key" : "an account")).join(" or ")}`;
}

/** What a provider's sign-in says of its failure, in one line. */
function toFault(error: unknown): unknown {
  for (let at = error; at instanceof Error; at = at.cause)
    if (Fault.is(at) || at instanceof UsageError) return at;
  if (!(error instanceof Error)) return error;
  return new Fault("invalid", `The login failed: ${oneLine(error.message, 500)}`, { cause: error });
}
