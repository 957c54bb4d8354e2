// A call that waits for a person: what is asked, and the ways to answer it.

import type { TUI } from "@earendil-works/pi-tui";
import { Fault, type Approval, type CommandOf, JsonObject } from "@lichen/wire";
import { approvalLines } from "../show/approval.ts";
import type { Theme } from "../show/theme.ts";
import { type Choice, Choices } from "./choices.ts";
import { type Panel, panelRows } from "./panel.ts";
import { LineField, TextField } from "./text-field.ts";

export type AnswerTo = Pick<CommandOf<"answer">, "allow"> &
  Partial<Pick<CommandOf<"answer">, "message" | "answers" | "input" | "always">>;

export interface DecisionOptions {
  readonly tui: TUI;
  readonly theme: Theme;
  readonly rows: () => number;
  /** Sends the answer; rejects where the host refuses it. */
  readonly answer: (answer: AnswerTo) => Promise<void>;
  /** Shows this in place of what is shown now; the decision is still open. */
  readonly show: (panel: Panel) => void;
  readonly leave: () => void;
  readonly other: (data: string) => void;
}

/** On a screen of fewer rows nobody could see what is decided on. */
const leastRows = 12;

/** The panel for a tool call. */
export function decisionPanel(approval: Approval, options: DecisionOptions): Panel {
  const { theme, rows, answer, show, leave, other } = options;
  const isTooSmall = () => rows() < leastRows;
  const decide = (given: AnswerTo) => void answer(given).catch(() => undefined);
  const choices: Choices = new Choices({
    theme,
    head: (width) =>
      isTooSmall()
        ? [theme.warn(`? to answer, make this ${leastRows} rows tall`)]
        : approvalLines(approval, theme, width, Math.max(2, panelRows(rows()) - 5)),
    choices: () => (isTooSmall() ? [] : ways),
    hints: "↑↓ and enter answer · esc leaves it open · typing goes on below",
    cancel: leave,
    other,
  });
  const ways: readonly Choice[] = [
    { label: "Allow", choose: () => decide({ allow: true }) },
    ...((approval.suggestions?.length ?? 0) > 0
      ? [
          {
            label: "Allow, and always from now on",
            choose: () => decide({ allow: true, always: true }),
          },
        ]
      : []),
    { label: "Edit the input, then allow", choose: () => show(editing(approval, options, back)) },
    { label: "Deny", choose: () => decide({ allow: false }) },
    { label: "Deny with a reason", choose: () => show(reasoning()) },
  ];
  const back = () => show(choices);
  const reasoning = () =>
    new LineField({
      title: "Why not? The agent is told:",
      theme,
      submit: (message) => decide({ allow: false, ...(message === "" ? {} : { message }) }),
      cancel: back,
    });
  return choices;
}

function editing(approval: Approval, { tui, theme, answer }: DecisionOptions, back: () => void) {
  const field: TextField = new TextField({
    title: `The input of ${approval.tool ?? "the tool"}, as it is to run:`,
    value: JSON.stringify(approval.input ?? {}, null, 2),
    theme,
    tui,
    submit: (text) => {
      const input = inputOf(text);
      if (typeof input === "string") field.refuse(input);
      else
        answer({ allow: true, input }).catch((error: unknown) => {
          field.refuse(Fault.is(error) ? error.message : String(error));
          tui.requestRender();
        });
    },
    cancel: back,
  });
  return field;
}

/** The object that a text holds, or what is wrong with it. */
function inputOf(text: string): JsonObject | string {
  try {
    const parsed = JsonObject.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : "The input must be a JSON object: { … }";
  } catch (error) {
    return `This is no JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}
