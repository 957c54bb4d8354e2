// Questions of an agent as a line of text shows and answers them: read as they came, numbered, and what a person typed
// taken as a label, a number or their own words.
//
//   A harness words its questions as it likes. What is no question with a text is left out here: a message answers it.

import type { Approval, Json } from "@lichen/wire";
import { oneLine, printable } from "./printable.ts";

export interface Question {
  readonly text: string;
  readonly header?: string;
  readonly options: readonly { readonly label: string; readonly description?: string }[];
  readonly takesSeveral: boolean;
}

/** What a person says to an approval. Answers are keyed by the question's text. */
export interface Decision {
  readonly allow: boolean;
  readonly message?: string;
  readonly answers?: Record<string, string>;
  /** What is suggested holds from now on. */
  readonly always?: boolean;
}

export function questionsOf({ questions = [] }: Pick<Approval, "questions">): Question[] {
  return questions.flatMap(questionOf);
}

/** The question and what can be chosen, on lines of their own. */
export function describeQuestion({ text, header, options }: Question): string {
  const head = header === undefined ? "" : `${oneLine(header, 100)}: `;
  const choices = options.map(({ label, description }, index) => {
    const hint = description === undefined ? "" : `: ${oneLine(description, 300)}`;
    return `\n  ${index + 1}. ${oneLine(label, 200)}${hint}`;
  });
  return `${head}${printable(text)}${choices.join("")}`;
}

/** A typed line as the answer: labels of options, also by their numbers, or the words as they are. Empty where it is. */
export function answerTyped({ options, takesSeveral }: Question, typed: string): string {
  const words = typed.trim();
  const chosen = (part: string): string | undefined => {
    const meant = part.trim().toLowerCase();
    const named = options.find(({ label }) => label.trim().toLowerCase() === meant);
    return (named ?? (/^\d+$/.test(meant) ? options[Number(meant) - 1] : undefined))?.label;
  };
  const one = chosen(words);
  if (one !== undefined || !takesSeveral) return one ?? words;
  const several = words.split(",").map(chosen);
  // Where one of them is no option the line is the person's own words.
  return several.includes(undefined) ? words : [...new Set(several)].join(", ");
}

function questionOf(value: Json): Question[] {
  if (typeof value === "string") return [{ text: value, options: [], takesSeveral: false }];
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  const { question: text, header, options, multiSelect } = value;
  if (typeof text !== "string") return [];
  return [
    {
      text,
      ...(typeof header === "string" ? { header } : {}),
      options: Array.isArray(options) ? options.flatMap(optionOf) : [],
      takesSeveral: multiSelect === true,
    },
  ];
}

function optionOf(value: Json): Question["options"] {
  if (typeof value === "string") return [{ label: value }];
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  const { label, description } = value;
  if (typeof label !== "string") return [];
  return [{ label, ...(typeof description === "string" ? { description } : {}) }];
}
