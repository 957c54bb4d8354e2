// Questions of an agent, one after the other: choices where it offers some, a line of text where not.

import { wrapTextWithAnsi } from "@earendil-works/pi-tui";
import type { Approval } from "@lichen/wire";
import { printable } from "../../printable.ts";
import { type Question, questionsOf } from "../../question.ts";
import { Choices, type Choice } from "./choices.ts";
import type { DecisionOptions } from "./decision.ts";
import { type Panel, panelRows } from "./panel.ts";
import { LineField } from "./text-field.ts";

/** The panel for a question. Answers are keyed by the question's text; several choices are joined by ", ". */
export function questionPanel(approval: Approval, options: DecisionOptions): Panel {
  const { theme, rows, answer, show, leave, other } = options;
  const questions = questionsOf(approval);
  const told: Record<string, string> = {};
  const send = (given: Parameters<typeof answer>[0]) => void answer(given).catch(() => undefined);

  if (questions.length === 0)
    return new LineField({
      title: approval.description ?? "The agent has a question.",
      theme,
      submit: (message) => send(message === "" ? { allow: false } : { allow: true, message }),
      cancel: leave,
    });

  const panelFor = (at: number): Panel => {
    const question = questions[at]!;
    const answered = (text: string) => {
      told[question.text] = text;
      if (at + 1 < questions.length) show(panelFor(at + 1));
      else send({ allow: true, answers: { ...told } });
    };
    const ticked = new Set<string>();
    const own = (): Panel =>
      new LineField({
        title: headOf(approval, question, `${at + 1}/${questions.length}`).join("\n"),
        theme,
        submit: (text) => (text === "" ? undefined : answered(text)),
        cancel: question.options.length === 0 ? leave : () => show(choices),
      });
    if (question.options.length === 0) return own();
    const choiceOf = ({ label, description }: Question["options"][number]): Choice => ({
      label,
      ...(description === undefined ? {} : { hint: description }),
      ...(question.takesSeveral ? { isTicked: ticked.has(label) } : {}),
      choose: () => {
        if (!question.takesSeveral) return answered(label);
        if (!ticked.delete(label)) ticked.add(label);
      },
    });
    const choices: Choices = new Choices({
      theme,
      head: (width) =>
        headOf(approval, question, `${at + 1}/${questions.length}`)
          .flatMap((line) => wrapTextWithAnsi(theme.accent(line), width))
          .slice(0, Math.max(2, panelRows(rows()) - question.options.length - 2)),
      choices: () => [
        ...question.options.map(choiceOf),
        ...(question.takesSeveral
          ? [
              {
                label: "Done",
                choose: () => (ticked.size === 0 ? undefined : answered([...ticked].join(", "))),
              },
            ]
          : []),
        { label: "Something else …", choose: () => show(own()) },
        { label: "Do not answer", choose: () => send({ allow: false }) },
      ],
      hints: question.takesSeveral
        ? "space ticks · enter on Done answers · esc leaves it open"
        : "↑↓ and enter answer · esc leaves it open",
      cancel: leave,
      other,
    });
    return choices;
  };
  return panelFor(0);
}

function headOf(approval: Approval, question: Question, place: string): string[] {
  const { description } = approval;
  return [
    ...(description === undefined ? [] : [printable(description)]),
    `${place} ${question.header === undefined ? "" : `${printable(question.header)}: `}${printable(question.text)}`,
  ];
}
