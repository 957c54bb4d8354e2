// A call that waits for a person: what is asked, and the ways to answer it.
//
//   It is allowed only where all of what would run can be read on the screen: read back whole, and with room for it. What
//   would be allowed for good is read before it is.

import type { ReadBlob } from "../../whole-approval.ts";
import type { TUI } from "@earendil-works/pi-tui";
import { Fault, type Approval, type CommandOf, JsonObject } from "@lichen/wire";
import { alwaysAsked, callAsked, callBegun } from "../show/approval.ts";
import type { Asked } from "../show/asked.ts";
import { escapedJson } from "../../revealed.ts";
import type { Theme } from "../show/theme.ts";
import type { Choice } from "./choices.ts";
import type { Panel } from "./panel.ts";
import { choosing, Reading, type ReadingOptions } from "./reading.ts";
import { LineField, TextField } from "./text-field.ts";
import { Whole } from "./whole.ts";

export type AnswerTo = Pick<CommandOf<"answer">, "allow"> &
  Partial<Pick<CommandOf<"answer">, "message" | "answers" | "input" | "always">>;

export interface DecisionOptions extends ReadingOptions {
  readonly tui: TUI;
  readonly blob: ReadBlob;
  /** Sends the answer; rejects where the host refuses it. */
  readonly answer: (answer: AnswerTo) => Promise<void>;
  /** Shows this in place of what is shown now; the decision is still open. */
  readonly show: (panel: Panel) => void;
}

const hints = "↑↓ and enter answer · esc leaves it open · typing goes on below";

/** The panel for a tool call. */
export function decisionPanel(given: Approval, options: DecisionOptions): Panel {
  const { tui, theme, answer, show } = options;
  const decide = (it: AnswerTo) => void answer(it).catch(() => undefined);
  /** Whether all of it stood on the screen. */
  let isShown = false;
  const whole: Whole = new Whole(given, options.blob, () => {
    reading.renew();
    tui.requestRender();
  });
  const reading: Reading = new Reading(theme, (width) => {
    isShown = whole.approval !== undefined;
    return whole.approval ? callAsked(whole.approval, theme, width) : begun(whole, width);
  });
  const begun = ({ trouble }: Whole, width: number): Asked => ({
    ...callBegun(given, theme, width),
    ...(trouble === undefined ? {} : { about: [theme.error(trouble)] }),
  });
  const back = () => show(panel);
  const ways = (): Choice[] => [
    ...allowing(),
    { label: "Deny", choose: () => decide({ allow: false }) },
    { label: "Deny with a reason", choose: () => show(reasoning(decide, back, theme)) },
  ];
  const panel: Panel = choosing(reading, options, ways, { hints });
  const isSuggesting = (given.suggestions?.length ?? 0) > 0;
  /** As many whether it is whole or not: what a person goes for stays where it is. */
  const allowing = (): Choice[] => {
    const approval = isShown ? whole.approval : undefined;
    if (approval)
      return [
        { label: "Allow", choose: () => decide({ allow: true }) },
        ...(isSuggesting
          ? [
              {
                label: "Allow, and always from now on …",
                choose: () => show(alwaysPanel(approval, options, decide, back)),
              },
            ]
          : []),
        {
          label: "Edit the input, then allow",
          choose: () => show(editing(approval, options, back)),
        },
      ];
    const why = whole.trouble === undefined ? "its input is being read" : "its input is not whole";
    const nothing = () => undefined;
    return [
      { label: `(No allowing yet: ${why})`, choose: nothing },
      ...(isSuggesting ? [{ label: "(nor always)", choose: nothing }] : []),
      whole.trouble === undefined
        ? { label: "(nor editing)", choose: nothing }
        : { label: "Read it again", choose: () => whole.read() },
    ];
  };
  return panel;
}

function alwaysPanel(
  approval: Approval,
  options: DecisionOptions,
  decide: (it: AnswerTo) => void,
  back: () => void,
): Panel {
  const reading = new Reading(options.theme, (width) =>
    alwaysAsked(approval, options.theme, width),
  );
  return choosing(reading, { ...options, leave: back }, () => [
    { label: "Back", choose: back },
    { label: "Really, always", choose: () => decide({ allow: true, always: true }) },
  ]);
}

function reasoning(decide: (it: AnswerTo) => void, back: () => void, theme: Theme): Panel {
  return new LineField({
    title: "Why not? The agent is told:",
    theme,
    submit: (message) => decide({ allow: false, ...(message === "" ? {} : { message }) }),
    cancel: back,
  });
}

function editing(approval: Approval, { tui, theme, answer }: DecisionOptions, back: () => void) {
  const field: TextField = new TextField({
    title: `The input of ${approval.tool ?? "the tool"}, as it is to run:`,
    value: escapedJson(approval.input ?? {}),
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
