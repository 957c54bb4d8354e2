// What one command line answers to the questions of an approval.
//
//   K120  All of them are answered, or left out on purpose, before anything is recorded.

import { UsageError } from "./command.ts";
import { oneLine } from "./printable.ts";
import { answerTyped, type Decision, type Question } from "./question.ts";

export interface Said {
  readonly message?: string | undefined;
  /** `<its text, its header or its number>=<answer>`; where one thing is asked, the answer alone will do. */
  readonly answers: readonly string[];
}

/** Refuses (`UsageError`) what leaves a question open, or answers none of them. */
export function answersSaid(questions: readonly Question[], { message, answers }: Said): Decision {
  const [question, ...more] = questions;
  if (answers.length > 0 && message !== undefined)
    throw refused("say it with --answer or with --message, not with both");
  // What has no text is answered in words alone.
  if (!question && answers.length > 0)
    throw refused("nothing is asked here that has a text: answer with --message");
  if (more.length === 0 && message !== undefined) {
    if (message.trim() === "") throw refused("the answer is empty");
    return question
      ? decided([[question.text, answerTyped(question, message)]])
      : { allow: true, message };
  }
  if (answers.length === 0)
    throw refused(
      more.length === 0
        ? "this is a question: answer it with --message"
        : `${questions.length} questions are asked at once: answer each, such as ${lineFor(questions)}`,
    );
  return decided(sorted(questions, answers));
}

/** How all of them are answered on one line: by their numbers. */
export function lineFor(questions: readonly Question[]): string {
  return questions.map((_question, index) => `--answer ${index + 1}="…"`).join(" ");
}

function sorted(questions: readonly Question[], answers: readonly string[]): [string, string][] {
  const found = new Map<Question, string[]>();
  for (const said of answers) {
    const { question, answer } = meant(questions, said);
    const before = found.get(question);
    if (before && !question.takesSeveral)
      throw refused(`"${oneLine(question.text, 100)}" takes one answer, and two are given`);
    found.set(question, [...(before ?? []), answer]);
  }
  const open = questions.findIndex((question) => !found.has(question));
  const left = questions[open];
  if (left)
    throw refused(
      `"${oneLine(left.text, 100)}" is not answered: add --answer ${open + 1}="…" (empty to leave it out)`,
    );
  return [...found].map(([question, parts]) => [
    question.text,
    answerTyped(question, parts.join(",")),
  ]);
}

/** The question that the words begin with; of two that do, the longer one. */
function meant(
  questions: readonly Question[],
  said: string,
): { readonly question: Question; readonly answer: string } {
  const words = said.trim();
  const names = questions.flatMap((question, index) =>
    [question.text, question.header, `${index + 1}`].flatMap((name) =>
      name === undefined ? [] : [{ question, name: `${name.trim().toLowerCase()}=` }],
    ),
  );
  const [best] = names
    .filter(({ name }) => words.toLowerCase().startsWith(name))
    .toSorted((one, other) => other.name.length - one.name.length);
  if (best) return { question: best.question, answer: words.slice(best.name.length) };
  const [only, ...more] = questions;
  if (only && more.length === 0) return { question: only, answer: words };
  throw refused(
    `--answer "${oneLine(said, 100)}" does not say which of the ${questions.length} questions it answers: begin it with the ` +
      `question's number, such as ${lineFor(questions)}`,
  );
}

/** What is left out is none of the answers. */
function decided(answers: readonly (readonly [string, string])[]): Decision {
  const given = answers.filter(([, answer]) => answer !== "");
  if (given.length === 0) throw refused("all answers are empty: --deny refuses the question");
  return { allow: true, answers: Object.fromEntries(given) };
}

function refused(why: string): UsageError {
  return new UsageError(`approve: ${why}`, "approve");
}
