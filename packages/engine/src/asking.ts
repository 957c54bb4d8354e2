// What a tool asks a person: the shape of its questions, and their answers as the tool gets them.
//
//   Answers are keyed by the question's text; several chosen labels are one text, joined by ", ". A text alone answers a
//   single question, so that also who only can write answers it.

import type { Answer } from "@lichen/runtime";
import type { Json, JsonObject } from "@lichen/wire";
import * as z from "zod";

export interface AskedQuestion {
  /** 1 to 2,000 characters; no two questions that are asked together are the same. Its answer's key. */
  readonly question: string;
  /** A word or two above the question; at most 100 characters. */
  readonly header?: string;
  /** What can be chosen, at most 12; a person may always answer in their own words. Labels have 1 to 200 characters, descriptions at most 1,000. */
  readonly options?: readonly { readonly label: string; readonly description?: string }[];
  /** Several options can be chosen; then no label holds ", ". */
  readonly multiSelect?: boolean;
}

export type Answers =
  /** A question that the person left out is missing. `message` is what they said besides. */
  | {
      readonly outcome: "answered";
      readonly answers: Readonly<Record<string, string>>;
      readonly message?: string;
    }
  | { readonly outcome: "denied" | "expired"; readonly message?: string };

const text = (most: number) =>
  z
    .string()
    .max(most, `has more than ${most} characters`)
    .refine((value) => value.trim() !== "", "is empty");

const Option = z.strictObject({ label: text(200), description: text(1_000).optional() });

const Question = z
  .strictObject({
    question: text(2_000),
    header: text(100).optional(),
    options: z.array(Option).max(12, "holds more than 12 options").optional(),
    multiSelect: z.boolean().optional(),
  })
  .superRefine(({ options = [], multiSelect = false }, context) => {
    const refuse = (path: (string | number)[], message: string) =>
      context.addIssue({ code: "custom", path, message });
    if (multiSelect && options.length === 0)
      refuse(["multiSelect"], "has no options to choose from");
    for (const [index, { label }] of options.entries()) {
      if (options.findIndex((option) => option.label === label) < index)
        refuse(["options", index, "label"], "is the label of an earlier option");
      if (multiSelect && label.includes(", "))
        refuse(["options", index, "label"], 'holds ", ", which stands between chosen labels');
    }
  });

const Asked = z.strictObject({
  questions: z
    .array(Question)
    .min(1, "is empty")
    .max(8, "holds more than 8 questions")
    .superRefine((questions, context) => {
      for (const [index, { question }] of questions.entries())
        if (questions.findIndex((other) => other.question === question) < index)
          context.addIssue({
            code: "custom",
            path: [index, "question"],
            message: "is asked twice: answers are found by the question's text",
          });
    }),
  description: text(2_000).optional(),
});

/** What is asked, checked and as JSON. */
export interface Asked {
  readonly questions: readonly AskedQuestion[];
  readonly json: Json[];
  readonly description?: string;
}

/** Checks what a tool asks. Throws an Error that names each place that does not fit, for the tool's author. */
export function askedOf(
  given: readonly object[],
  options: { readonly description?: string } = {},
): Asked {
  const parsed = Asked.safeParse({ ...options, questions: given });
  if (!parsed.success) {
    const reasons = parsed.error.issues.map(({ path, message }) => `${placeOf(path)} ${message}`);
    throw new Error(`ask: ${reasons.join("; ")}.`);
  }
  const { questions, description } = parsed.data;
  const asked = questions.map(({ question, header, options: offered, multiSelect }) => ({
    question,
    ...(header === undefined ? {} : { header }),
    ...(offered === undefined
      ? {}
      : {
          options: offered.map(({ label, description: hint }) => ({
            label,
            ...(hint === undefined ? {} : { description: hint }),
          })),
        }),
    ...(multiSelect === undefined ? {} : { multiSelect }),
  }));
  return {
    questions: asked,
    json: asked,
    ...(description === undefined ? {} : { description }),
  };
}

/** What a person decided, as the tool gets it. */
export function answersOf(questions: readonly AskedQuestion[], given: Answer): Answers {
  const { outcome, message, answers = {} } = given;
  const said = message === undefined ? {} : { message };
  if (outcome === "withdrawn")
    return { outcome: "expired", message: "The question was withdrawn before its answer." };
  if (outcome !== "allowed") return { outcome, ...said };
  const told = questions.flatMap(({ question }) => {
    const answer = textOf(answers, question);
    return answer === "" ? [] : [[question, answer] as const];
  });
  const [only] = questions;
  if (told.length > 0 || questions.length > 1 || !only || !message?.trim())
    return { outcome: "answered", answers: Object.fromEntries(told), ...said };
  return {
    outcome: "answered",
    answers: Object.fromEntries([[only.question, labelOf(only, message.trim())]]),
  };
}

/** The label that a person wrote in other letters, or their own words. */
function labelOf({ options = [] }: AskedQuestion, words: string): string {
  const meant = words.toLowerCase();
  return options.find(({ label }) => label.trim().toLowerCase() === meant)?.label ?? words;
}

function textOf(answers: JsonObject, question: string): string {
  const answer = Object.hasOwn(answers, question) ? answers[question] : undefined;
  if (answer === undefined || answer === null) return "";
  if (typeof answer === "string") return answer;
  if (Array.isArray(answer) && answer.every((part) => typeof part === "string"))
    return answer.join(", ");
  return JSON.stringify(answer);
}

function placeOf(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("")
    .replace(/^\./, "");
}
