// `grep` and `find`: each search runs in its own thread and ends with the call, with an abort, or after 30 seconds.

import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { Fault } from "@lichen/wire";
import * as z from "zod";
import type { Tool } from "../../tool.ts";
import { grepExpression, type SearchAnswer, type SearchRequest } from "../search.ts";
import { typedTool } from "../typed-tool.ts";
import type { Guard } from "./guard.ts";
import type { SearchTask } from "./search-worker.ts";

const timeoutMs = 30_000;
const Answer = z.union([
  z.object({
    answer: z.object({ lines: z.array(z.string()), found: z.number(), hasMore: z.boolean() }),
  }),
  z.object({ refusal: z.string() }),
]);

export function grepTool(guard: Guard): Tool {
  return typedTool({
    name: "grep",
    description:
      "Search the contents of files for a regular expression (JavaScript syntax) or a literal text. Answers `path:line: text`. Leaves out what .gitignore names, .git and node_modules.",
    input: z.strictObject({
      pattern: z.string().min(1).describe("The expression, matched line by line"),
      path: z
        .string()
        .min(1)
        .optional()
        .describe("A folder or a file; the working directory if left out"),
      glob: z
        .string()
        .min(1)
        .optional()
        .describe("Only files whose name or relative path matches, e.g. *.ts or src/**/*.ts"),
      literal: z.boolean().optional().describe("The pattern is plain text"),
      ignoreCase: z.boolean().optional(),
      context: z
        .int()
        .min(0)
        .max(20)
        .optional()
        .describe("Lines to show before and after each match"),
      limit: z.int().min(1).max(1_000).optional().describe("Matches at most; 100 if left out"),
    }),
    label: "read",
    grant: "files",
    async execute(input, { signal }) {
      const request: SearchRequest = {
        type: "grep",
        path: input.path ?? ".",
        pattern: input.pattern,
        literal: input.literal ?? false,
        ignoreCase: input.ignoreCase ?? false,
        contextLines: input.context ?? 0,
        ...(input.glob === undefined ? {} : { glob: input.glob }),
        limit: input.limit ?? 100,
      };
      try {
        grepExpression(request);
      } catch (error) {
        throw new Fault(
          "invalid",
          `The pattern is not a regular expression: ${String(error)}. Set literal to search for plain text.`,
        );
      }
      return result(await search({ guard: guard.options(), request }, signal), "No line matches.");
    },
  });
}

export function findTool(guard: Guard): Tool {
  return typedTool({
    name: "find",
    description:
      "Find files and folders by a glob: *.ts matches names at any depth, src/**/*.test.ts matches paths below the folder. Leaves out what .gitignore names, .git and node_modules.",
    input: z.strictObject({
      pattern: z.string().min(1).describe("The glob"),
      path: z
        .string()
        .min(1)
        .optional()
        .describe("The folder to search; the working directory if left out"),
      limit: z.int().min(1).max(5_000).optional().describe("Names at most; 1,000 if left out"),
    }),
    label: "read",
    grant: "files",
    async execute({ pattern, path = ".", limit = 1_000 }, { signal }) {
      const request: SearchRequest = { type: "find", path, glob: pattern, limit };
      return result(await search({ guard: guard.options(), request }, signal), "Nothing matches.");
    },
  });
}

function result({ lines, found, hasMore }: SearchAnswer, nothing: string) {
  const shown = hasMore
    ? [...lines, `[There is more than these ${found}. Narrow the search, or raise limit.]`]
    : lines;
  return {
    content: [{ type: "text", text: shown.length > 0 ? shown.join("\n") : nothing }],
    data: { found, hasMore },
  };
}

async function search(task: SearchTask, signal: AbortSignal): Promise<SearchAnswer> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<SearchAnswer>();
  const worker = new Worker(join(import.meta.dirname, "search-worker.ts"), {
    workerData: task,
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  });
  const timeout = setTimeout(
    () =>
      reject(
        new Fault(
          "unavailable",
          `The search took longer than ${timeoutMs / 1_000} seconds. Narrow it.`,
        ),
      ),
    timeoutMs,
  );
  const aborted = () => reject(signal.reason);
  signal.addEventListener("abort", aborted, { once: true });
  worker.on("message", (message: unknown) => {
    const said = Answer.parse(message);
    if ("answer" in said) resolve(said.answer);
    else reject(new Fault("invalid", said.refusal));
  });
  worker.on("error", reject);
  worker.on("exit", () => reject(new Fault("unavailable", "The search ended without an answer.")));
  try {
    return await promise;
  } finally {
    clearTimeout(timeout);
    signal.removeEventListener("abort", aborted);
    await worker.terminate();
  }
}
