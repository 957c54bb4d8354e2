// One item of the conversation as lines of the screen.

import type { Item, ItemOf, QuestionView } from "@lichen/client";
import type { EntryData, Json, Partial } from "@lichen/wire";
import type { Look } from "./call.ts";
import { callLines } from "./call.ts";
import { behind, clean, cleanLine, countOf, linesOf, row, wrapped } from "./lines.ts";
import { assistantLines, markdownLines, noteLines, userLines } from "./message.ts";
import { questionTexts } from "./question.ts";
import { objectIn, stringIn, textIn, valueLines } from "./value.ts";

export type Live = NonNullable<Partial["tool"]>;

/** Each item begins with an empty line, except for remarks of one line. */
export function itemLines(item: Item, look: Look, live?: Live): string[] {
  const { theme } = look;
  switch (item.type) {
    case "user":
      return userLines(
        item.steers === undefined ? item : { ...item, remark: "joined what runs" },
        look,
      );
    case "assistant":
      return assistantLines(item, look, live);
    case "tool":
      return ["", ...callLines(item.call, look)];
    case "line": {
      const by = item.by === undefined ? "" : `${cleanLine(item.by, 80)}: `;
      return ["", ...noteLines("» ", by + textIn(item.text), look, 12)];
    }
    case "compaction":
      return compactionLines(item, look);
    case "conversation":
      return ["", theme.border(row("── a new conversation ──", look.width))];
    case "recovered": {
      const times = item.recoveries > 1 ? ` (${item.recoveries} times by now)` : "";
      return remark("↻ ", `goes on after a restart${times}`, look, theme.warn);
    }
    case "ended":
      return endedLines(item, look);
    case "cancelled":
      return item.was === "running"
        ? remark("⊘ ", "cancellation asked for", look, theme.dim)
        : [
            "",
            ...remark("⊘ ", "taken back before it ran:", look, theme.dim),
            ...noteLines("  ", textIn(item.text), look, 6),
          ];
    case "changed":
      return changesOf(item.changes).flatMap((words) => remark("· ", words, look, theme.dim));
    case "question":
      return questionLines(item.question, look);
    case "unknown":
      return remark(
        "· ",
        `an entry of the kind ${cleanLine(item.entry.kind, 80)}, which this version does not show`,
        look,
        theme.dim,
      );
  }
}

function remark(
  mark: string,
  words: string,
  { width }: Look,
  style: (text: string) => string,
): string[] {
  return behind(style(mark), wrapped(words, width - 2).map(style), width, "  ");
}

function compactionLines({ summary, automatic }: ItemOf<"compaction">, look: Look): string[] {
  const { theme, width, isUnfolded } = look;
  const text = textIn(summary);
  const lines = linesOf(clean(text)).length;
  const hint = isUnfolded ? "" : ` (${countOf(lines, "line")}, ctrl+o shows it)`;
  const head = `── summed up for the model${automatic ? "" : ", as asked"}${hint} ──`;
  return ["", theme.border(row(head, width)), ...(isUnfolded ? markdownLines(text, look) : [])];
}

function endedLines({ terminal, diagnostic }: ItemOf<"ended">, look: Look): string[] {
  const { theme } = look;
  const reason = diagnostic === undefined ? "" : `: ${cleanLine(diagnostic, 1_024)}`;
  switch (terminal) {
    case "failed":
      return remark("✗ ", `the run failed${reason}`, look, theme.error);
    case "cancelled":
      return remark("⊘ ", `the run was cancelled${reason}`, look, theme.dim);
    case "interrupted":
      return remark("! ", `the run was interrupted${reason}`, look, theme.warn);
    case "outcome_unknown":
      return remark(
        "! ",
        `the run was interrupted, and nobody knows whether its last write happened${reason}`,
        look,
        theme.warn,
      );
  }
}

function changesOf(changes: EntryData["session.changed"]): string[] {
  // A title stands at the foot of the screen.
  const { model, reasoning, tools } = changes;
  return [
    model === undefined
      ? ""
      : `model → ${model === null ? "the engine's own" : cleanLine(model, 200)}`,
    reasoning === undefined ? "" : `reasoning → ${reasoning}`,
    tools === undefined ? "" : `tools activated → ${cleanLine(tools.join(", "), 400) || "none"}`,
  ].filter(Boolean);
}

const decisions: Readonly<Record<Exclude<QuestionView["state"], "answered">, string>> = {
  pending: "waits for your answer",
  denied: "not answered",
  withdrawn: "taken back",
  expired: "no answer in time",
};

function questionLines(question: QuestionView, look: Look): string[] {
  const { theme, width } = look;
  const room = Math.max(1, width - 2);
  const asked = [
    ...(question.description === undefined ? [] : linesOf(clean(textIn(question.description)))),
    ...questionTexts(question.questions).map(({ text }) => text),
  ];
  const answer = answersOf(question);
  const message = question.message === undefined ? "" : clean(textIn(question.message));
  return [
    "",
    ...behind(
      theme.warn("? "),
      asked.flatMap((line) => wrapped(line, room)),
      width,
      "  ",
    ),
    ...(question.state === "answered"
      ? behind(
          theme.ok("→ "),
          [...answer, ...linesOf(message)].filter(Boolean).flatMap((line) => wrapped(line, room)),
          width,
          "  ",
        )
      : remark(
          "→ ",
          decisions[question.state] + (message === "" ? "" : `: ${cleanLine(message)}`),
          look,
          theme.dim,
        )),
    ...(question.by === undefined
      ? []
      : [theme.dim(row(`  ${cleanLine(question.by, 80)}`, width))]),
  ];
}

/** One answer stands alone, more of them with what each is to. */
function answersOf({ answers }: QuestionView): string[] {
  const members = objectIn(answers as Json | undefined);
  if (!members) return [];
  const values = Object.values(members);
  const only = values.length === 1 ? stringIn(values[0]) : undefined;
  return (only === undefined ? valueLines(members).join("\n") : only)
    .split("\n")
    .map((line) => clean(line));
}
