// Questions to a person. A harness words them as it likes: the usual members are read, the rest is shown as it is.

import { revealed } from "../../revealed.ts";
import { visibleWidth } from "@earendil-works/pi-tui";
import type { Approval, Json } from "@lichen/wire";
import type { Question } from "../../question.ts";
import { aboutRows } from "./approval.ts";
import { type Asked, bodyWidth } from "./asked.ts";
import { clean, wrappedLines } from "./lines.ts";
import type { Theme } from "./theme.ts";
import { allValueLines, objectIn, stringIn, valueLines } from "./value.ts";

export interface QuestionText {
  /** In words, on one or more lines. */
  readonly text: string;
  readonly options: readonly string[];
}

const wordings = ["question", "text", "prompt", "title", "message", "header"];

export function questionTexts(
  questions: readonly Json[],
  seen: (text: string) => string = clean,
): QuestionText[] {
  return questions.map((question) => {
    const members = objectIn(question);
    const text =
      stringIn(question) ??
      wordings.flatMap((name) => stringIn(members?.[name]) ?? []).find((it) => it.trim() !== "");
    const options = members?.["options"];
    return {
      text: seen(text ?? valueLines(question).join("\n")),
      options: text !== undefined && Array.isArray(options) ? options.map(optionText) : [],
    };
  });
}

function optionText(option: Json): string {
  const members = objectIn(option);
  const label = stringIn(option) ?? stringIn(members?.["label"]) ?? stringIn(members?.["text"]);
  if (label === undefined) return revealed(JSON.stringify(option));
  const description = stringIn(members?.["description"]);
  return revealed(description === undefined ? label : `${label}: ${description}`);
}

/**
 * One question as it is put: its text, then the options that one row cannot show, whole, then what is said of it. `place`
 * says which of several it is.
 */
export function questionAsked(
  { description }: Pick<Approval, "description">,
  question: Question,
  place: string,
  theme: Theme,
  width: number,
): Asked {
  const room = bodyWidth(width);
  const header = question.header === undefined ? "" : `${question.header}: `;
  const [first = "", ...rest] = wrappedLines(
    revealed(`${place}${header}${question.text}`).trim(),
    room,
  ).map(theme.accent);
  return {
    head: theme.warn("? ") + first,
    body: [
      ...rest,
      ...question.options.flatMap((option, at) =>
        isShort(option, width) ? [] : wrappedLines(`${at + 1} ${optionWhole(option)}`, room),
      ),
    ],
    about: aboutRows(description, room),
  };
}

/** Questions of a shape that is not known, each as it is. */
export function unreadAsked(
  { description, questions = [] }: Approval,
  theme: Theme,
  width: number,
): Asked {
  const room = bodyWidth(width);
  return {
    head: theme.warn("? ") + "A question for you",
    body: questions.flatMap((it) => wrappedLines(revealed(allValueLines(it).join("\n")), room)),
    about: aboutRows(description, room),
  };
}

/** What the row of an option shows of a text: its first line. */
export function firstLine(text: string): string {
  const [first = "", ...rest] = revealed(text).trim().split("\n");
  return rest.length === 0 ? first : `${first}…`;
}

type Option = Question["options"][number];

/** Whether a row shows all of it, with the mark, the number and the tick before it. */
function isShort(option: Option, width: number): boolean {
  const whole = optionWhole(option);
  return !whole.includes("\n") && visibleWidth(whole) <= width - 9;
}

function optionWhole({ label, description }: Option): string {
  return revealed(description === undefined ? label : `${label}: ${description}`);
}
