// `lichen capability call`: one operation by hand, on the owner's own word. Its answer is JSON on stdout.

import type { Agent } from "@lichen/client";
import { nearest } from "@lichen/server/nearest";
import { onStopSignal } from "@lichen/server/node";
import { type CallAnswer, Fault, type JsonObject, type OperationInfo } from "@lichen/wire";
import { askYes } from "../../ask-yes.ts";
import { capabilityCalled, withAgent } from "../../capability/named.ts";
import { operationCalled } from "../../capability/operations.ts";
import type { Input } from "../../command.ts";
import { oneLine, printable } from "../../printable.ts";
import { revealed } from "../../revealed.ts";
import type { Terminal } from "../../terminal.ts";
import { givenOf, jsonOrFolder } from "../../tool/asked.ts";

const command = "capability call";

export async function run(given: Input, terminal: Terminal): Promise<number> {
  const [word, dir] = [given.argument("json"), given.argument("dir")];
  const { json, input: place } =
    dir === undefined ? jsonOrFolder(given, word, command) : { json: word, input: given };
  const input: Input = {
    ...given,
    argument: (name) => (name === "dir" ? place.argument("dir") : given.argument(name)),
  };
  const value = await givenOf(json, command);
  const stop = new AbortController();
  const ignoreSignals = onStopSignal(() => stop.abort(new Error("The call was stopped.")));
  try {
    return await withAgent(input, terminal, async (agent) => {
      const { id, namespace } = await capabilityCalled(agent, input, terminal);
      const operation = await operationNamed(agent, id, namespace, given.argument("operation")!);
      const name = `${namespace}.${operation.property}`;
      const canAsk = terminal.canAsk && json !== "-";
      await allow({ name, operation, value, canAsk, input }, stop.signal);
      const request = {
        operation: operation.name,
        input: value,
        ...(operation.confirm ? { confirm: true } : {}),
      };
      const answer = await agent.capabilities.call(id, request, { signal: stop.signal });
      return show(name, answer, input, terminal);
    });
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    terminal.say("the call was stopped");
    return 130;
  } finally {
    ignoreSignals();
  }
}

async function operationNamed(
  agent: Agent,
  id: string,
  namespace: string,
  name: string,
): Promise<OperationInfo> {
  const { operation, names } = await operationCalled(agent, id, name);
  if (operation !== undefined) return operation;
  const meant = nearest(name, names);
  const hint = meant === undefined ? "." : `; did you mean ${oneLine(meant, 128)}?`;
  const all =
    names.length > 40 ? "" : ` It lends: ${oneLine(names.join(", "), 2_000) || "nothing"}.`;
  throw new Fault(
    "invalid",
    `${oneLine(namespace, 64)} has no operation "${oneLine(name, 200)}"${hint}${all}`,
  );
}

interface Asked {
  readonly name: string;
  readonly operation: OperationInfo;
  readonly value: JsonObject;
  readonly canAsk: boolean;
  readonly input: Input;
}

/** The owner's own word, for what does not run without one. */
async function allow(
  { name, operation, value, canAsk, input }: Asked,
  signal: AbortSignal,
): Promise<void> {
  if (!operation.confirm || input.flag("yes")) return;
  const call = `${oneLine(name, 256)} ${revealed(JSON.stringify(value))}`;
  if (!canAsk)
    throw new Fault(
      "invalid",
      `${call} did not run: it asks a person first, and nobody can be asked here. Allow it with --yes.`,
    );
  if (await askYes(`Run ${call}?`, signal)) return;
  throw new Fault("invalid", `${oneLine(name, 256)} did not run: it was not allowed.`);
}

function show(name: string, answer: CallAnswer, input: Input, terminal: Terminal): number {
  if (input.flag("json")) {
    terminal.answer(`${JSON.stringify(answer)}\n`);
    return answer.ok ? 0 : 1;
  }
  if (!answer.ok) {
    const { code, message } = answer;
    terminal.say(
      `lichen: ${oneLine(name, 256)} failed (${oneLine(code, 64)}): ${printable(message)}`,
    );
    return 1;
  }
  const { value, images = [] } = answer;
  if (value !== undefined) terminal.answer(`${jsonOf(value, terminal)}\n`);
  if (images.length > 0)
    terminal.say(
      `${images.length} ${images.length === 1 ? "image is" : "images are"} left out; --json has all`,
    );
  return 0;
}

/** JSON escapes most of what steers a terminal; on a screen the rest of it goes as well. */
function jsonOf(value: unknown, terminal: Terminal): string {
  const text = JSON.stringify(value, null, 2);
  return terminal.showsLive ? printable(text) : text;
}
