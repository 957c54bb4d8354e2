// The command line's one way through: parse, run, and the exit code. Usage errors are 2, refusals and failures 1.

import { Interrupted } from "./ask-secret.ts";
import { UsageError } from "./command.ts";
import { commands } from "./commands.ts";
import { renderCommandHelp, renderGroupHelp, renderHelp } from "./help.ts";
import { parse } from "./parse.ts";
import { processTerminal, type Terminal } from "./terminal.ts";

/** Runs one command line and ends the process with its exit code. */
export async function main(args: readonly string[]): Promise<void> {
  const terminal = processTerminal();
  const code = await execute(args, terminal);
  await terminal.flush();
  process.exit(code);
}

async function execute(args: readonly string[], terminal: Terminal): Promise<number> {
  if (args[0] === "completion" && args[1] === "--words") {
    const { answerWords } = await import("./completion/words.ts");
    return answerWords(args.slice(2), terminal);
  }
  try {
    const parsed = parse(args, commands);
    switch (parsed.kind) {
      case "help":
        terminal.answer(
          parsed.command !== undefined
            ? renderCommandHelp(parsed.command)
            : parsed.group !== undefined
              ? renderGroupHelp(parsed.group)
              : renderHelp(commands),
        );
        return 0;
      case "version": {
        const { version } = await import("./version.ts");
        terminal.answer(`${await version()}\n`);
        return 0;
      }
      case "run": {
        endWithLauncher();
        const { run } = await parsed.command.load();
        return await whileAlive(run(parsed.input, terminal));
      }
    }
  } catch (error) {
    return await explain(error, terminal);
  }
}

/** Keeps the process until the command is done: what it waits for need not (a host's timers do not). */
async function whileAlive(running: Promise<number>): Promise<number> {
  const alive = setInterval(() => undefined, 2 ** 30);
  try {
    return await running;
  } finally {
    clearInterval(alive);
  }
}

/** Started by a launcher under an older Node: when that is killed, this process ends as well. */
function endWithLauncher(): void {
  if (process.channel === undefined || process.channel === null) return;
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  process.channel.unref();
}

/** Says why a command could not be done. Answers the exit code. */
export async function explain(error: unknown, terminal: Terminal): Promise<number> {
  if (error instanceof Interrupted) return 130;
  if (error instanceof UsageError) {
    const about = error.command === undefined ? "lichen --help" : `lichen help ${error.command}`;
    terminal.say(`lichen: ${error.message}\nTry: ${about}`);
    return 2;
  }
  const { describeError, sentenceOf } = await import("./fault-text.ts");
  const sentence = sentenceOf(error);
  terminal.say(
    sentence === undefined
      ? `lichen: this is a bug of Lichen, please report it.\n${describeError(error)}`
      : `lichen: ${sentence}`,
  );
  return 1;
}
