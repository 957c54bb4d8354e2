// `lichen crashtest`: an agent, killed at every point of a run at which a crash could matter, and what became of it.

import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { findAgent, locateHost, onStopSignal } from "@lichen/server/node";
import { type Input, UsageError } from "../command.ts";
import { crashtest } from "../crashtest/crashtest.ts";
import type { Choice } from "../crashtest/points.ts";
import { Progress } from "../crashtest/progress.ts";
import { isSound, reportJson, reportTable } from "../crashtest/report.ts";
import { Workplace } from "../crashtest/workplace.ts";
import { loadEnvironment } from "../environment.ts";
import { modelNamed } from "../model-name.ts";
import type { Terminal } from "../terminal.ts";

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const prompt = input.argument("prompt") ?? "";
  if (prompt.trim() === "") throw new UsageError("crashtest: the prompt is empty", "crashtest");
  const dir = input.argument("dir") ?? ".";
  const isKept = input.flag("keep");
  const model = modelNamed(input.value("model"));
  const stateDir = await stateOf(input, dir);
  const stop = new AbortController();
  const ignoreSignals = onStopSignal(() => stop.abort());
  const progress = new Progress(terminal);
  progress.note("the first run, in which nothing crashes …");
  const place = await Workplace.open(dir, stateDir);
  try {
    const report = await crashtest({
      place,
      session: `crashtest-${randomUUID()}`,
      prompt,
      ...(model === undefined ? {} : { model }),
      choice: choiceOf(input),
      isKept,
      onProgress: (done, all) => progress.show(done, all),
      signal: stop.signal,
    });
    progress.clear();
    if ("unknown" in report) {
      const known = report.known.map(({ id }) => id).join(", ");
      throw new UsageError(
        `crashtest: this run has no crash point ${report.unknown}, only ${known}`,
        "crashtest",
      );
    }
    terminal.answer(input.flag("json") ? reportJson(report) : reportTable(report));
    return isSound(report) ? 0 : 1;
  } catch (error) {
    progress.clear();
    if (!stop.signal.aborted) throw error;
    terminal.say("stopped; nothing was judged");
    return 130;
  } finally {
    ignoreSignals();
    if (!isKept) await place.remove();
  }
}

/** Where the agent's conversations are, if it has any; its folder is not written to. */
async function stateOf(input: Input, dir: string): Promise<string | undefined> {
  const { dir: agentDir } = findAgent(dir, process.env["LICHEN_AGENT"]);
  await loadEnvironment(agentDir);
  const named = input.value("state") ?? process.env["LICHEN_STATE_DIR"];
  if (named !== undefined && named !== "") return named;
  // Without an id it never ran.
  if (!existsSync(join(agentDir, ".lichen", "agent.json"))) return undefined;
  return locateHost({ dir }).stateDir;
}

function choiceOf(input: Input): Choice {
  const ids = input.value("points")?.split(",");
  const every = input.value("every");
  return {
    ...(ids === undefined ? {} : { ids }),
    ...(every === undefined ? {} : { every: Number(every) }),
  };
}
