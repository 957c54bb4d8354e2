// Questions of an agent, one after the other: choices where it offers some, a line of text where not.

import type { Approval } from "@lichen/wire";
import { type Question, questionsOf } from "../../question.ts";
import { firstLine, questionAsked, unreadAsked } from "../show/question.ts";
import type { Choice } from "./choices.ts";
import type { AnswerTo, DecisionOptions } from "./decision.ts";
import type { Panel } from "./panel.ts";
import { choosing, Reading, writing } from "./reading.ts";
import { Whole } from "./whole.ts";

/** The panel for a question. Answers are keyed by the question's text; several choices are joined by ", ". */
export function questionPanel(given: Approval, options: DecisionOptions): Panel {
  const { tui, theme } = options;
  const whole: Whole = new Whole(given, options.blob, () => {
    reading.renew();
    tui.requestRender();
  });
  if (whole.approval) return wholePanel(whole.approval, options);
  const reading: Reading = new Reading(theme, (width) => ({
    ...unreadAsked({ ...given, questions: [] }, theme, width),
    body: [
      whole.approval
        ? "It is here."
        : (whole.trouble ?? "It is long, and is being read: a moment."),
    ],
  }));
  // Nothing stands there that an answer could be meant for: the question comes when somebody goes on to it.
  return choosing(reading, options, () => [
    whole.approval
      ? { label: "Go on to it", choose: () => options.show(wholePanel(whole.approval!, options)) }
      : {
          label: whole.trouble === undefined ? "(It is being read)" : "Read it again",
          choose: () => (whole.trouble === undefined ? undefined : whole.read()),
        },
    refusal(options),
  ]);
}

function wholePanel(approval: Approval, options: DecisionOptions): Panel {
  const { theme, leave, show } = options;
  const questions = questionsOf(approval);
  const told: Record<string, string> = {};

  if (questions.length === 0)
    return writing(
      new Reading(theme, (width) => unreadAsked(approval, theme, width)),
      options,
      (message) => send(options, message === "" ? { allow: false } : { allow: true, message }),
      leave,
    );

  const panelFor = (at: number): Panel => {
    const question = questions[at]!;
    const place = questions.length === 1 ? "" : `${at + 1}/${questions.length} `;
    const reading = () =>
      new Reading(theme, (width) => questionAsked(approval, question, place, theme, width));
    const answered = (text: string) => {
      told[question.text] = text;
      if (at + 1 < questions.length) show(panelFor(at + 1));
      else send(options, { allow: true, answers: { ...told } });
    };
    const own = (cancel: () => void): Panel =>
      writing(reading(), options, (text) => (text === "" ? undefined : answered(text)), cancel);
    if (question.options.length === 0) return own(leave);
    const ticked = new Set<string>();
    const choices: Panel = choosing(
      reading(),
      options,
      () => [
        ...question.options.map((option) => choiceOf(option, question, ticked, answered)),
        ...(question.takesSeveral
          ? [
              {
                label: "Done",
                choose: () => (ticked.size === 0 ? undefined : answered([...ticked].join(", "))),
              },
            ]
          : []),
        { label: "Something else …", choose: () => show(own(() => show(choices))) },
        refusal(options),
      ],
      {
        // The choices of a question may be more than a screen takes.
        most: 4,
        ...(question.takesSeveral
          ? { hints: "space ticks · enter on Done answers · esc leaves it open" }
          : {}),
      },
    );
    return choices;
  };
  return panelFor(0);
}

function send({ answer }: DecisionOptions, given: AnswerTo): void {
  answer(given).catch(() => undefined);
}

function refusal(options: DecisionOptions): Choice {
  return { label: "Do not answer", choose: () => send(options, { allow: false }) };
}

function choiceOf(
  { label, description }: Question["options"][number],
  { takesSeveral }: Question,
  ticked: Set<string>,
  answered: (text: string) => void,
): Choice {
  return {
    label: firstLine(label),
    ...(description === undefined ? {} : { hint: firstLine(description) }),
    ...(takesSeveral ? { isTicked: ticked.has(label) } : {}),
    choose: () => {
      if (!takesSeveral) return answered(label);
      if (!ticked.delete(label)) ticked.add(label);
    },
  };
}
