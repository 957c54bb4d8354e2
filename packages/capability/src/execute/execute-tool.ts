// The execute door: one tool, the same whatever is attached, through which a model's code reaches every operation.
//
//   D6  Name, description and parameters never change.
//   D7  Each execution is given what is attached as it begins; only results leave it.

import type { CallContext } from "../connector.ts";
import type { Access } from "../access.ts";
import type { JsonObject, JsonSchema } from "../json.ts";
import type { CapabilitySource } from "../surface/source.ts";
import { type ContentBlock, contentOf } from "./answer.ts";
import { type ConfirmRequest, ProgramCalls } from "./calls.ts";
import { createDiscovery } from "./discovery.ts";
import type { SandboxExecutor } from "./port.ts";
import type { ProgramLike } from "./program.ts";

export interface ExecuteToolOptions {
  readonly executor: SandboxExecutor;
  readonly source: CapabilitySource;
  /** How long a program may take where its code says nothing, in seconds: 180. */
  readonly deadlineSeconds?: number;
  /** Takes what a connector threw that is no `OperationError`. */
  readonly report?: (error: unknown) => void;
}

/** What a host lends one call of the door; everything but the signal may be left out. */
export interface ExecuteContext {
  readonly signal: AbortSignal;
  /** The journal that makes the program survive a crash. */
  readonly program?: ProgramLike;
  /** All that decides about calls, asked for at each. */
  readonly access?: () => Access;
  /** A person's word for one call with exactly this input; used where there is no journal. */
  readonly confirm?: (asked: ConfirmRequest) => Promise<boolean>;
  /** How the call of an ordinal asks a person something. */
  readonly ask?: (ordinal: number) => CallContext["ask"];
  /** What it put out so far, the whole of it. */
  readonly output?: (text: string) => void;
  /** A text without what the host holds as secret. */
  readonly clean?: (text: string) => string | Promise<string>;
}

export interface ExecuteResult {
  readonly content: readonly ContentBlock[];
  readonly isError: boolean;
  /** For people only. */
  readonly data: JsonObject;
}

export interface ExecuteTool {
  readonly name: "execute";
  readonly description: string;
  readonly parameters: JsonSchema;
  execute(input: unknown, context: ExecuteContext): Promise<ExecuteResult>;
}

const longestSeconds = 900;

const executeDescription = `Run a JavaScript program against the services attached to this agent. \`code\` is the body of an async function: \`return\` its result, JSON of at most 256 KiB. Only that, what it prints with console.log, and images come back to you.

Each service is a global object, each of its operations an async function that takes one object: \`await github.reposGet({owner: "ada", repo: "engine"})\`. Find them inside the program:
- \`await capabilities.list()\`: the services; \`capabilities.list({namespace: "github"})\`: the operations of one.
- \`await capabilities.search("create an issue")\`: the operations that fit best, and what they take.
- \`await capabilities.describe(["github.issuesCreate"])\`: their exact TypeScript types.

Do many steps in one program: loop, filter, make independent calls with Promise.all, and return only what you need. An operation that fails throws an Error with \`code\` and \`message\`: catch it where the program can go on. A call may wait for a person; the program waits with it. There is no network, no file system, no timer and no import besides these operations.`;

const executeParameters: JsonSchema = {
  type: "object",
  properties: {
    code: { type: "string", description: "The body of an async function." },
    deadlineSeconds: {
      type: "integer",
      minimum: 1,
      maximum: longestSeconds,
      description: "How long it may take, without what waits for people. Default: 180.",
    },
  },
  required: ["code"],
  additionalProperties: false,
};

export function createExecuteTool(options: ExecuteToolOptions): ExecuteTool {
  const { executor, source, report } = options;
  const discovery = createDiscovery();
  return {
    name: "execute",
    description: executeDescription,
    parameters: executeParameters,
    async execute(input, context) {
      const { code, deadlineSeconds = options.deadlineSeconds } = executeInput(input);
      const { signal, program, access, confirm, ask, clean, output } = context;
      const shown = new Shown(output);
      const calls = new ProgramCalls({
        ...{ source, discovery, program, access, confirm, ask, clean, report },
        progress: (operation, text) => shown.progress(operation, text),
      });
      const execution = await executor.execute(code, calls.bindings(), {
        signal,
        ...(deadlineSeconds === undefined ? {} : { deadlineMs: deadlineSeconds * 1_000 }),
        ...(program ? { journal: program } : {}),
        output: (text) => shown.print(text),
      });
      const { displayed } = calls;
      return {
        content: contentOf(execution, calls.images),
        isError: !execution.result.ok,
        data: {
          calls: execution.calls,
          ...(displayed.length === 0 ? {} : { displayed: displayed.map((one) => ({ ...one })) }),
        },
      };
    },
  };
}

export interface ExecuteInput {
  readonly code: string;
  readonly deadlineSeconds?: number;
}

/** The arguments of the door. Throws a TypeError that says what does not fit. */
export function executeInput(given: unknown): ExecuteInput {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new TypeError("execute takes an object with `code`.");
  const unknown = Object.keys(given).find((name) => name !== "code" && name !== "deadlineSeconds");
  if (unknown !== undefined)
    throw new TypeError(
      `execute: ${unknown.slice(0, 100)} is none of its fields: code, deadlineSeconds.`,
    );
  const code: unknown = "code" in given ? given.code : undefined;
  const seconds: unknown = "deadlineSeconds" in given ? given.deadlineSeconds : undefined;
  if (typeof code !== "string" || code.trim() === "")
    throw new TypeError("execute: code is the program, a text that is not empty.");
  if (seconds === undefined) return { code };
  if (
    typeof seconds === "number" &&
    Number.isInteger(seconds) &&
    seconds >= 1 &&
    seconds <= longestSeconds
  )
    return { code, deadlineSeconds: seconds };
  throw new TypeError(`execute: deadlineSeconds is a whole number from 1 to ${longestSeconds}.`);
}

/** What people see while it runs: what it printed, and how far the newest of its calls is. */
class Shown {
  readonly #output: ((text: string) => void) | undefined;
  #printed = "";
  #progress = "";

  constructor(output: ((text: string) => void) | undefined) {
    this.#output = output;
  }

  print(text: string): void {
    this.#printed = text;
    this.#show();
  }

  progress(operation: string, text: string): void {
    this.#progress = `${operation}: ${text}`;
    this.#show();
  }

  #show(): void {
    this.#output?.(this.#progress === "" ? this.#printed : `${this.#printed}${this.#progress}\n`);
  }
}
