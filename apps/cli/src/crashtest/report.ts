// What a crashtest found, for a person and for a program.

import { oneLine } from "../printable.ts";
import type { Verdict } from "./judge.ts";
import type { Point } from "./points.ts";

export interface Tested extends Verdict {
  readonly point: Point;
  /** The process died there; in a run that went another way it may never come to this point. */
  readonly isReached: boolean;
  /** How the command settled at last. */
  readonly terminal?: string;
}

export interface Report {
  readonly writes: number;
  readonly effects: number;
  readonly tested: readonly Tested[];
  /** Where the copies are, if they are kept. */
  readonly kept?: string;
}

const errors = ["lost", "repeated", "unfinished"] as const;
const all = [...errors, "unknown"] as const;

export function isSound({ tested }: Report): boolean {
  return tested.every((it) => errors.every((kind) => it[kind].length === 0));
}

export function reportJson({ tested, ...report }: Report): string {
  const points = tested.map(({ point, isReached, ...rest }) => ({
    point: point.id,
    after: point.what,
    reached: isReached,
    ...rest,
  }));
  return `${JSON.stringify({ ...report, ...totals(tested), points })}\n`;
}

export function reportTable(report: Report): string {
  const { tested, kept } = report;
  const rows = [
    ["point", "killed after", "ended", ...all],
    ...tested.map((it) => [
      it.point.id,
      oneLine(it.point.what, 44),
      `${it.terminal ?? "open"}${it.isReached ? "" : " (not reached)"}`,
      ...all.map((kind) => String(it[kind].length || "-")),
    ]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd(),
  );
  const findings = tested.flatMap((it) =>
    all.flatMap((kind) => it[kind].map((what) => `${it.point.id}: ${kind}: ${oneLine(what, 300)}`)),
  );
  const sums = totals(tested);
  return [
    ...lines,
    "",
    ...(findings.length > 0 ? [...findings, ""] : []),
    `${tested.length} crash point${tested.length === 1 ? "" : "s"}: ${all.map((kind) => `${sums[kind]} ${kind}`).join(", ")}`,
    ...(kept === undefined ? [] : [`The copies are kept in ${kept}`]),
  ]
    .map((line) => `${line}\n`)
    .join("");
}

function totals(tested: readonly Tested[]): Record<(typeof all)[number], number> {
  const sum = (kind: (typeof all)[number]) =>
    tested.reduce((count, it) => count + it[kind].length, 0);
  return {
    lost: sum("lost"),
    repeated: sum("repeated"),
    unfinished: sum("unfinished"),
    unknown: sum("unknown"),
  };
}
