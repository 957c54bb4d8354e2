// Questions to a person. A harness words them as it likes: the usual members are read, the rest is shown as it is.

import type { Json } from "@lichen/wire";
import { clean, revealed } from "./lines.ts";
import { objectIn, stringIn, valueLines } from "./value.ts";

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
