// What the demo model says: rules over the newest words of the user and the agent's tools. Pure.

import type { JsonObject } from "@lichen/wire";
import { argumentsFrom } from "./demo-arguments.ts";

export interface DemoTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: object;
}

export interface Heard {
  readonly said: string;
  readonly images: number;
  /** Results of the calls of its own last message. */
  readonly results: readonly {
    readonly name: string;
    readonly text: string;
    readonly isError: boolean;
  }[];
}

export interface Reply {
  readonly text: string;
  readonly call?: { readonly name: string; readonly input: JsonObject };
}

const whatIAm =
  "I am the demo model that is built into Lichen: a handful of rules and no language model.";
const howToGetMore =
  "For real answers set a key, for example ANTHROPIC_API_KEY or OPENAI_API_KEY, and start Lichen again, or name a model in lichen.config.ts.";
const resultChars = 1_500;

/** The whole answer to what was heard last. */
export function demoReply(heard: Heard, tools: readonly DemoTool[]): Reply {
  if (heard.results.length > 0) return { text: told(heard.results) };
  const said = heard.said.trim();
  if (said.includes("<conversation>") && said.includes("</conversation>")) return summary(said);
  if (/^(what can you do|help\b|what tools|which tools|list (your |the )?tools)/i.test(said))
    return abilities(tools);
  const named = namedTool(said, tools);
  if (named) return calling(named, said);
  if (
    /\b(who|what) are you\b|are you (an? )?(real|ai|llm|language model|claude|gpt|bot|human)/i.test(
      said,
    )
  )
    return { text: `${whatIAm} ${howToGetMore}` };
  const echo = /^(?:please\s+)?(?:say|repeat|echo)\b[\s:]+(.+)$/is.exec(said);
  if (echo) return { text: echo[1]!.trim() };
  const count = /^(?:please\s+)?count (?:up )?to (\d{1,3})\b/i.exec(said);
  if (count)
    return {
      text: Array.from({ length: Number(count[1]) }, (_, n) => n + 1).join(" "),
    };
  const tool = meantTool(said, tools);
  if (tool) return calling(tool, said);
  if (/^(hi|hello|hey|good (morning|day|evening)|moin|hallo)\b/i.test(said))
    return { text: `Hello! ${whatIAm} ${offer(tools)}` };
  const seen = heard.images > 0 ? " I cannot see images either." : "";
  return {
    text: `${whatIAm} I cannot answer that.${seen} ${offer(tools)} ${howToGetMore}`,
  };
}

function offer(tools: readonly DemoTool[]): string {
  return tools.length > 0
    ? `I can call this agent's tools: ask "what can you do", or say "use the ${easiest(tools)} tool".`
    : "This agent has no tools that I could call; I can count (“count to 10”) and repeat (“say hello”).";
}

/** A tool that can be called without arguments, where there is one. */
function easiest(tools: readonly DemoTool[]): string {
  const needsNothing = ({ parameters }: DemoTool) =>
    !("required" in parameters && Array.isArray(parameters.required) && parameters.required.length);
  return (tools.find(needsNothing) ?? tools[0])?.name ?? "";
}

function abilities(tools: readonly DemoTool[]): Reply {
  if (tools.length === 0) return { text: `${whatIAm} ${offer(tools)} ${howToGetMore}` };
  const lines = tools.map(
    (tool) => `- \`${tool.name}\`: ${tool.description.split(/(?<=[.!?])\s|\n/)[0]?.slice(0, 200)}`,
  );
  return {
    text: `${whatIAm} But this agent's tools are real, and I can call them:\n${lines.join("\n")}\n\nTry "use the ${easiest(tools)} tool", or give the arguments yourself: call ${easiest(tools)} with {…}.\n\n${howToGetMore}`,
  };
}

function calling(tool: DemoTool, said: string): Reply {
  const filled = argumentsFrom(said, tool);
  return filled.input
    ? { text: `I call \`${tool.name}\`.`, call: { name: tool.name, input: filled.input } }
    : {
        text: `I would call \`${tool.name}\`, but ${filled.problem} As the demo model I understand simple sentences only. Give the arguments as JSON: call ${tool.name} with ${filled.example}`,
      };
}

function told(results: Heard["results"]): string {
  return results
    .map(({ name, text, isError }) => {
      const shown =
        text.length > resultChars ? `${text.slice(0, resultChars)}… (cut by the demo model)` : text;
      return isError ? `\`${name}\` failed: ${shown}` : `\`${name}\` answered: ${shown}`;
    })
    .join("\n\n");
}

/** "call note_write", "use the dice tool", or a tool's name at the beginning. */
function namedTool(said: string, tools: readonly DemoTool[]): DemoTool | undefined {
  const lower = said.toLowerCase();
  return tools
    .filter((tool) => {
      const spellings = [tool.name, tool.name.replace(/[_-]+/g, " ")].map((it) =>
        escape(it.toLowerCase()),
      );
      return spellings.some((it) =>
        new RegExp(
          `^${it}(\\s*[{(:]|$)|\\b(call|use|run|try|invoke)\\s+(the\\s+|your\\s+)?(tool\\s+)?["\`']?${it}["\`']?(\\b|$)|\\b${it} tool\\b`,
        ).test(lower),
      );
    })
    .toSorted((a, b) => b.name.length - a.name.length)[0];
}

/** A request in words of the tool's own: "write a note …" means `note_write`. */
function meantTool(said: string, tools: readonly DemoTool[]): DemoTool | undefined {
  const words = wordsOf(said.split(/["“”:]/)[0] ?? "");
  const request = words.filter((word) => !polite.has(word));
  const scored = tools.map((tool) => {
    const name = wordsOf(tool.name);
    const described = new Set([...name, ...wordsOf(tool.description)]);
    const inName = name.filter((word) => words.includes(word)).length;
    const verb = request[0];
    const isRequest =
      verb !== undefined && (described.has(verb) || words.some((word) => asking.has(word)));
    const isMeant =
      inName > 0 &&
      isRequest &&
      (inName === name.length || request.filter((word) => described.has(word)).length >= 2);
    return {
      tool,
      score: isMeant ? inName * 2 + request.filter((word) => described.has(word)).length : 0,
    };
  });
  const best = scored.toSorted((a, b) => b.score - a.score)[0];
  return best && best.score > 0 ? best.tool : undefined;
}

const polite = new Set(
  wordsOf(
    "please can could would you will kindly i want to me my the a an some one this that for of in on at",
  ),
);
const asking = new Set("use call run try invoke".split(" "));

/** Lower-case words without a plural's or a verb's ending, so that "notes" and "note" are one. */
function wordsOf(text: string): string[] {
  return (
    text
      .replace(/([a-z])([A-Z])/g, "$1 $2")
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? []
  ).map((word) =>
    word.length > 3 ? word.replace(/(?<=[a-z]{3})(ing|es|s)$/, "").replace(/e$/, "") : word,
  );
}

function summary(said: string): Reply {
  const lines = said
    .slice(said.indexOf("<conversation>"))
    .split("\n")
    .filter((line) => /^(User|Operator): /.test(line))
    .map((line) => `- ${line.slice(0, 300)}`);
  return {
    text: `This summary was made by Lichen's demo model, which only lists what was asked:\n${lines.join("\n") || "- nothing"}`,
  };
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
