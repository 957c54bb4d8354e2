// `npm run bench`: measures the figures one after the other, prints a table and, on request, JSON.
//
//   --only N[,N]     these figures only
//   --quick          small amounts: whether everything works, not how fast it is
//   --json FILE      the readings with what they were made from
//   --profile DIR    CPU profiles of the measured processes, and where their time went (slower: for finding, not judging)

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { admissionFigure } from "./admission.ts";
import { chatFigure } from "./chat-paint.ts";
import { clientFigure } from "./client-events.ts";
import { doorFigure } from "./door.ts";
import { harnessDeltaFigure } from "./harness-delta.ts";
import { invokeFigure } from "./invoke.ts";
import { largeLogFigure } from "./large-log.ts";
import { largeResultFigure } from "./large-result.ts";
import { listFigure } from "./list-sessions.ts";
import { longSessionFigure } from "./long-session.ts";
import { memoryFigure } from "./memory.ts";
import { recoveryFigure } from "./recovery.ts";
import { sandboxFigure } from "./sandbox.ts";
import { startupFigure } from "./startup.ts";
import { fanOutFigure } from "./watch-fan-out.ts";
import { type BenchContext, type Figure, isMet, type Reading } from "./figure.ts";
import { summarizeProfiles } from "./profile-summary.ts";

const figures: readonly Figure[] = [
  admissionFigure,
  invokeFigure,
  longSessionFigure,
  fanOutFigure,
  memoryFigure,
  startupFigure,
  recoveryFigure,
  clientFigure,
  chatFigure,
  sandboxFigure,
  doorFigure,
  harnessDeltaFigure,
  listFigure,
  largeLogFigure,
  largeResultFigure,
];

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    quick: { type: "boolean", default: false },
    json: { type: "string" },
    profile: { type: "string" },
  },
});
const only = values.only?.split(",").map(Number);
const chosen = figures.filter(({ number }) => only?.includes(number) ?? true);
if (chosen.length === 0) {
  console.error(`--only takes ${figures.map(({ number }) => number).join(", ")}.`);
  process.exit(2);
}

const measured: { figure: number; title: string; readings: readonly Reading[]; error?: string }[] =
  [];
for (const { number, title, measure } of chosen) {
  const folder = mkdtempSync(join(tmpdir(), `lichen-bench-${number}-`));
  const context: BenchContext = {
    isQuick: values.quick,
    folder,
    ...(values.profile === undefined ? {} : { profileFolder: resolve(values.profile) }),
    ends: [],
    note: (text) => console.error(`  ${number}: ${text}`),
  };
  console.error(`${number}. ${title}`);
  try {
    measured.push({ figure: number, title, readings: await measure(context) });
  } catch (error) {
    console.error(error);
    measured.push({ figure: number, title, readings: [], error: String(error) });
  } finally {
    for (const end of context.ends) await end();
    rmSync(folder, { recursive: true, force: true });
  }
}

const rows = measured.flatMap(({ figure, readings }) =>
  readings.map((reading) => ({
    figure: String(figure),
    what: reading.what,
    measured: `${shown(reading.measured)} ${reading.unit}`,
    target: `${reading.bound} ${reading.target} ${reading.unit}`,
    verdict: isMet(reading) ? "ok" : "missed",
  })),
);
printTable(rows);
for (const { figure, error } of measured) if (error) console.log(`${figure}  failed: ${error}`);
if (values.quick) console.log("Quick amounts: these numbers judge nothing.");
if (values.profile !== undefined) summarizeProfiles(resolve(values.profile));
if (values.json !== undefined) {
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? "", cores: cpus().length };
  const report = { at: new Date().toISOString(), quick: values.quick, machine, measured };
  writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
}
if (measured.some(({ error }) => error !== undefined)) process.exitCode = 1;

function shown(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function printTable(lines: readonly Record<string, string>[]): void {
  const heads = ["figure", "what", "measured", "target", "verdict"];
  const widths = heads.map((head) =>
    Math.max(head.length, ...lines.map((line) => line[head]!.length)),
  );
  const print = (cells: readonly string[]) =>
    console.log(
      cells
        .map((cell, at) => cell.padEnd(widths[at]!))
        .join("  ")
        .trimEnd(),
    );
  print(heads);
  for (const line of lines) print(heads.map((head) => line[head]!));
}
