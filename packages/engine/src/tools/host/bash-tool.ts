// `bash`: one command line in a shell of its own, inside the sandbox, with an environment that names what it holds.

import { existsSync } from "node:fs";
import { basename } from "node:path";
import { Fault } from "@lichen/wire";
import * as z from "zod";
import type { Tool } from "../../tool.ts";
import { CappedOutput } from "../capped-output.ts";
import { typedTool } from "../typed-tool.ts";
import { type Ending, runProgram } from "./program.ts";
import type { Sandbox, Wrapped } from "./sandbox.ts";

export interface BashOptions {
  readonly cwd: string;
  readonly sandbox: Sandbox;
  /** Absolute paths that a command may read and not change, asked for at each command. Only a wall keeps to it. */
  readonly readOnly?: () => readonly string[];
  /** The same for what has no part in the work: real paths of what is there. */
  readonly guarded?: () => readonly string[];
  /** Variables beside the six that every command has. */
  readonly environment?: Readonly<Record<string, string>>;
}

const defaultTimeoutSeconds = 120;
const maxTimeoutSeconds = 600;
const maxOutputBytes = 50 * 1_024;
const showEveryMs = 100;
const readOnlyNotice =
  "[The agent's own code and settings, and what its user's computer starts by itself, run outside the sandbox and are read-only here. Whoever owns the agent can change them outside of it.]";
const inherited = ["PATH", "HOME", "LANG", "TMPDIR", "USER"];

export function bashTool(options: BashOptions): Tool {
  return typedTool({
    name: "bash",
    description: `Run a command in a shell, in the working directory. Gives its output (at most ${maxOutputBytes / 1_024} KB of it: the beginning and the end) and its exit code. There is no input to answer prompts with. What it leaves running in the background is ended with it.`,
    input: z.strictObject({
      command: z.string().min(1).describe("The command line"),
      timeout: z
        .number()
        .positive()
        .max(maxTimeoutSeconds)
        .optional()
        .describe(`Seconds until it is stopped; ${defaultTimeoutSeconds} if left out`),
    }),
    label: "write",
    grant: "shell",
    replaySafe: false,
    async execute({ command, timeout = defaultTimeoutSeconds }, context) {
      const output = new CappedOutput(maxOutputBytes);
      let showing: NodeJS.Timeout | undefined;
      const show = () => {
        showing = undefined;
        context.output(output.text());
      };
      const { cwd, sandbox } = options;
      const readOnly = options.readOnly?.() ?? [];
      const guarded = options.guarded?.() ?? [];
      let wrapped: Wrapped | undefined;
      try {
        wrapped = sandbox.wrap(shellFor(command), { cwd, readOnly, guarded });
        const ending = await runProgram({
          argv: wrapped.argv,
          cwd: options.cwd,
          environment: environmentOf(options.environment),
          timeoutMs: timeout * 1_000,
          signal: context.signal,
          output: (chunk) => {
            output.push(chunk);
            showing ??= setTimeout(show, showEveryMs);
          },
        });
        const text = output.text();
        context.output(text);
        const notice = isAboutReadOnly(text, readOnly) ? readOnlyNotice : "";
        const said = [text.replace(/\n$/, ""), notice, endingText(ending, timeout)]
          .filter(Boolean)
          .join("\n");
        return {
          content: [{ type: "text", text: said || "(no output)" }],
          isError: ending.exitCode !== 0 || ending.why !== "ended",
          data: { exitCode: ending.exitCode, ended: ending.why, isCut: output.isCut },
        };
      } catch (error) {
        if (context.signal.aborted || Fault.is(error)) throw error;
        throw new Fault("unavailable", `The shell could not be started in ${options.cwd}.`, {
          cause: error,
        });
      } finally {
        clearTimeout(showing);
        wrapped?.release();
      }
    },
  });
}

/** Where a read-only path does not exist, an empty folder stands: what fails then speaks of a folder that is there. */
function isAboutReadOnly(output: string, readOnly: readonly string[]): boolean {
  if (readOnly.length === 0) return false;
  if (/read-only file system|resource busy|EROFS|EBUSY/i.test(output)) return true;
  if (!/file exists|is a directory|not a directory|EEXIST|EISDIR|ENOTDIR/i.test(output))
    return false;
  return readOnly.some((path) => output.includes(basename(path)));
}

function endingText({ exitCode, killedBy, why }: Ending, timeout: number): string {
  if (why === "timeout") return `[Stopped after ${timeout} seconds.]`;
  if (why === "aborted") return "[Stopped: the run was cancelled.]";
  if (killedBy !== null) return `[Ended by ${killedBy}.]`;
  return exitCode === 0 ? "" : `[Exit code ${exitCode}]`;
}

/** Both outputs go through one pipe, so that they keep their order. */
function shellFor(command: string): string[] {
  const shell = existsSync("/bin/bash") ? ["/bin/bash", "--noprofile", "--norc"] : ["/bin/sh"];
  return ["/bin/sh", "-c", 'exec "$@" 2>&1', "sh", ...shell, "-c", command];
}

function environmentOf(named: Readonly<Record<string, string>> = {}): Record<string, string> {
  const environment: Record<string, string> = { TERM: "dumb" };
  for (const name of inherited) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  return { ...environment, ...named };
}
