// Whether a person's answers are answers to what was asked: checked before they are recorded, at every door alike.
//
//   P9  Answers are texts under the texts of the questions; who asks for a harness gets one for each that it needs.

import { cut, type EntryData, Fault, type Json, type JsonObject } from "@lichen/wire";

type Asked = Pick<EntryData["approval.asked"], "questions" | "optional" | "prompt">;
type Given = Pick<EntryData["approval.answered"], "answers" | "message">;

const shownQuestions = 8;
const shownText = 200;

/** The answers as they are recorded: several chosen labels are one text. Refuses (`invalid`) those that do not fit. */
export function fittingAnswers(asked: Asked, { answers, message }: Given): JsonObject | undefined {
  const texts = (asked.questions ?? []).map(textIn);
  // What nobody can name nobody can answer by its name.
  if (texts.length === 0 || texts.includes(undefined)) return answers;
  const questions = texts.filter((text) => text !== undefined);
  const told = Object.entries(answers ?? {}).map(([question, answer]) => {
    if (!questions.includes(question))
      throw refusal(`${quoted([question])} is none of the questions`, questions);
    const text = saidIn(answer);
    if (text === undefined)
      throw refusal(`the answer to ${quoted([question])} is no text`, questions);
    return [question, text] as const;
  });
  const answered = new Set(
    told.flatMap(([question, text]) => (text.trim() === "" ? [] : question)),
  );
  const isSaid = questions.length === 1 && typeof message === "string" && message.trim() !== "";
  const missing =
    asked.prompt === undefined || isSaid
      ? []
      : questions.filter((it) => !answered.has(it) && !asked.optional?.includes(it));
  if (missing.length > 0)
    throw refusal(
      `nothing answers ${quoted(missing)}, and the model would read that nobody answered`,
      questions,
    );
  return answers && Object.fromEntries(told);
}

function textIn(question: Json): string | undefined {
  if (typeof question !== "object" || question === null || Array.isArray(question))
    return undefined;
  const { question: text } = question;
  return typeof text === "string" ? text : undefined;
}

function saidIn(answer: Json | undefined): string | undefined {
  if (typeof answer === "string") return answer;
  const isChoice = Array.isArray(answer) && answer.every((it) => typeof it === "string");
  return isChoice ? answer.join(", ") : undefined;
}

function refusal(what: string, questions: readonly string[]): Fault {
  return new Fault(
    "invalid",
    `answers: ${what}. Answer each question under its own text, with a text: ${quoted(questions)}.`,
  );
}

function quoted(texts: readonly string[]): string {
  const shown = texts.slice(0, shownQuestions).map((text) => JSON.stringify(cut(text, shownText)));
  const more = texts.length - shown.length;
  return more > 0 ? `${shown.join(", ")} and ${more} more` : shown.join(", ");
}
