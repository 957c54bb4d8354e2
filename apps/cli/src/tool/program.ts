// What `lichen tool` does, in the process where the folder's code runs.

import { acceptedCall, Refusal, type Tool } from "@lichen/engine";
import { type FolderTools, openFolderTools } from "@lichen/server/node";
import { Fault, type JsonObject } from "@lichen/wire";
import { type Input, UsageError } from "../command.ts";
import { describeError } from "../fault-text.ts";
import { variable } from "../model-name.ts";
import { nearest } from "@lichen/server/nearest";
import { placeOf } from "../place.ts";
import { oneLine, printable } from "../printable.ts";
import { describeProblem } from "../problem.ts";
import { StrayFaults } from "../stray-faults.ts";
import type { Terminal } from "../terminal.ts";
import { askedOf, givenOf } from "./asked.ts";
import { type CallOptions, callTool, type Ended } from "./call.ts";
import { commandName, quoted } from "../typed.ts";

export interface Surroundings extends Pick<CallOptions, "onStop"> {
  /** Ends the process. */
  readonly end: (code: number) => Promise<void>;
}

/** Answers the exit code. */
export async function runTool(
  given: Input,
  terminal: Terminal,
  { onStop, end }: Surroundings,
): Promise<number> {
  const { name, json, input } = askedOf(given);
  const wantsSchema = input.flag("schema");
  if (name === undefined && (wantsSchema || input.flag("yes")))
    throw new UsageError("tool: --schema and --yes need a tool's <name>", "tool");
  const value = name === undefined || wantsSchema ? {} : await givenOf(json);
  const { dir, agentDir, stateDir } = await placeOf(input);
  const leave = takeStrays(agentDir, terminal, end);
  const folder = await openFolderTools({ dir, state: stateDir, env: variable });
  try {
    for (const diagnostic of folder.diagnostics)
      terminal.say(describeProblem(diagnostic).join(": "));
    if (name === undefined) return list(folder, input, terminal);
    const tool = toolCalled(name, folder.tools);
    if (wantsSchema) {
      terminal.answer(`${JSON.stringify(tool.parameters, null, 2)}\n`);
      return 0;
    }
    const accepted = await inputOf(tool, value, input);
    const isAskable = terminal.canAsk && json !== "-";
    const asks = input.flag("yes") ? "yes" : isAskable ? "terminal" : "nobody";
    const ended = await callTool(tool, accepted, folder, { terminal, asks, onStop });
    return show(tool, ended, input, terminal);
  } catch (error) {
    if (error instanceof Refusal) throw new Fault("invalid", oneLine(error.message, 2_000));
    throw error;
  } finally {
    await folder.close();
    leave();
  }
}

/** What the folder's code throws where nobody catches it; in a host it would interrupt at most itself. */
function takeStrays(dir: string, terminal: Terminal, end: Surroundings["end"]): () => void {
  const say = (error: unknown) =>
    terminal.say(`error: a fault that nobody awaited or caught: ${describeError(error)}`);
  return new StrayFaults().take({
    dirs: [dir],
    left: ({ error }) => say(error),
    broken: (error) => {
      say(error);
      void end(1);
    },
  });
}

function toolCalled(name: string, tools: readonly Tool[]): Tool {
  const found = tools.find((tool) => tool.name === name);
  if (found !== undefined) return found;
  const names = tools.map((tool) => tool.name);
  const meant = nearest(name, names);
  const hint = meant === undefined ? "." : `; did you mean ${meant}?`;
  const all = names.length === 0 ? "It has no tools." : `Its tools: ${names.join(", ")}.`;
  throw new Fault("invalid", `This agent has no tool "${printable(name)}"${hint} ${all}`);
}

async function inputOf(tool: Tool, given: JsonObject, input: Input): Promise<JsonObject> {
  try {
    return await acceptedCall(tool, given);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const dir = input.argument("dir");
    const place = dir === undefined ? "" : ` ${quoted(dir)}`;
    const schema = `${commandName()} tool ${tool.name}${place} --schema`;
    const reason = oneLine(error.message, 2_000);
    throw new UsageError(`tool: ${reason} (\`${schema}\` shows what it takes)`, "tool");
  }
}

function show(tool: Tool, ended: Ended, input: Input, terminal: Terminal): number {
  if (!("outcome" in ended)) return ended.exitCode;
  const { outcome, progress } = ended;
  const { content, data, isError } = outcome;
  if (input.flag("json")) {
    const shown = { content, ...(data === undefined ? {} : { data }), isError };
    terminal.answer(`${JSON.stringify(shown)}\n`);
    return isError ? 1 : 0;
  }
  const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  const text = texts.join("\n");
  if (isError) {
    terminal.say(`lichen: ${tool.name} failed: ${printable(text)}`);
    return 1;
  }
  // What a person has just seen come in is not shown again.
  const isSeen = terminal.showsLive && terminal.showsProgress && text.trim() === progress.trim();
  if (text !== "" && !isSeen) {
    const shown = terminal.showsLive ? printable(text) : text;
    terminal.answer(shown.endsWith("\n") ? shown : `${shown}\n`);
  }
  const images = content.length - texts.length;
  if (images > 0)
    terminal.say(`${images} ${images === 1 ? "image is" : "images are"} left out; --json has all`);
  return 0;
}

function list(folder: FolderTools, input: Input, terminal: Terminal): number {
  const { tools } = folder;
  if (input.flag("json")) {
    terminal.answer(`${JSON.stringify(tools.map(describe))}\n`);
    return 0;
  }
  if (tools.length === 0) terminal.say("this agent has no tools: write one as tools/<name>.ts");
  const rows = tools.map(describe).map(({ name, label, confirm, deferred, description }) => {
    const asks = confirm === true ? ["confirm"] : confirm === false ? [] : ["may confirm"];
    const labels = [label, ...asks, ...(deferred ? ["deferred"] : [])].join(", ");
    return [name, labels, oneLine(description, 100)] as const;
  });
  const widths = [0, 1].map((column) => Math.max(0, ...rows.map((row) => row[column]!.length)));
  for (const [name, labels, description] of rows)
    terminal.answer(
      `${name.padEnd(widths[0]!)}  ${labels.padEnd(widths[1]!)}  ${description}`.trimEnd() + "\n",
    );
  return 0;
}

function describe({ name, label, confirm = false, deferred = false, description }: Tool) {
  return {
    ...{ name, label, deferred, description },
    confirm: typeof confirm === "function" ? "sometimes" : confirm,
  };
}
