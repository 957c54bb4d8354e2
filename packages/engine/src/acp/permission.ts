// A permission request in our words: the question to a person, and their answer as one of the options on offer.
//
//   - `always` takes the lasting option, where there is one; without it the option for this one time.
//   - Several ways to allow for this once are a choice, whether it can be refused or not, and so is a call whose input asks
//     questions: a person answers them, never auto-approve.
//   - Nobody's answer is ever a lasting one by itself.

import type { Answer, Question } from "@lichen/runtime";
import type { Json, JsonObject } from "@lichen/wire";
import type {
  PermissionOption,
  RequestPermissionOutcome,
  RequestPermissionRequest,
} from "@agentclientprotocol/sdk";
import * as z from "zod";
import { answersOf, type AskedQuestion } from "../asking.ts";

type Options = RequestPermissionRequest["options"];

/** What the agent is answered: an option, and the answers of questions that it asked in a call's input. */
export interface Decision {
  readonly outcome: RequestPermissionOutcome;
  readonly answers?: Readonly<Record<string, string>>;
}

/** A choice among several ways to go on, of which none is the obvious one. */
export function isChoice(options: Options): boolean {
  return options.filter((it) => it.kind === "allow_once").length > 1;
}

const Asking = z.object({
  questions: z
    .array(
      z.object({
        question: z.string().min(1),
        header: z.string().optional(),
        options: z
          .array(z.object({ label: z.string().min(1), description: z.string().optional() }))
          .optional(),
        multiSelect: z.boolean().optional(),
      }),
    )
    .min(1),
});

/** The questions that a call's input asks, where that is all that the call does. */
export function questionsIn(input: Json | undefined): readonly AskedQuestion[] | undefined {
  const parsed = Asking.safeParse(input);
  if (!parsed.success) return undefined;
  return parsed.data.questions.map(({ question, header, options, multiSelect }) => ({
    question,
    ...(header === undefined ? {} : { header }),
    ...(multiSelect === undefined ? {} : { multiSelect }),
    ...(options === undefined
      ? {}
      : {
          options: options.map(({ label, description }) => ({
            label,
            ...(description === undefined ? {} : { description }),
          })),
        }),
  }));
}

/** Answers to such questions, by their places: what agents that ask so read. */
export function decisionOf(
  questions: readonly AskedQuestion[],
  answer: Answer,
  options: Options,
): Decision {
  const given = answersOf(questions, answer);
  const outcome = outcomeOfAnswer(answer, options, "");
  if (given.outcome !== "answered") return { outcome };
  const answers = questions.flatMap(({ question }, at) => {
    const text = given.answers[question];
    return text === undefined ? [] : [[String(at), text] as const];
  });
  return { outcome, answers: Object.fromEntries(answers) };
}

/** What auto-approve answers: this one time, or nothing where that is not on offer or is a choice. */
export function approvedOnce(options: Options): RequestPermissionOutcome | undefined {
  const once = options.find((it) => it.kind === "allow_once");
  return once && !isChoice(options) ? selected(once) : undefined;
}

/** The options that go on to count after this call, for `suggestions`. */
export function lastingOf(options: Options): Json[] {
  return options
    .filter((it) => it.kind === "allow_always" || it.kind === "reject_always")
    .map(({ optionId, name, kind }) => ({ optionId, name, kind }));
}

/** The questions of a choice. Labels that are the same are told apart. */
export function choiceOf(title: string, options: Options): JsonObject[] {
  return [
    {
      question: title || "Which one?",
      options: labelsOf(options).map((label) => ({ label })),
    },
  ];
}

/** What the person's answer selects; cancelled where they chose nothing that is on offer. */
export function outcomeOfAnswer(
  answer: Answer,
  options: Options,
  title: string,
): RequestPermissionOutcome {
  const isLasting = answer.always === true;
  if (answer.outcome === "withdrawn") return { outcome: "cancelled" };
  if (answer.outcome !== "allowed") {
    const rejected = ofKind(options, isLasting ? "reject_always" : "reject_once", "reject_once");
    return rejected ? selected(rejected) : { outcome: "cancelled" };
  }
  if (isChoice(options)) {
    const label = answer.answers?.[title || "Which one?"] ?? answer.message?.trim();
    const at = labelsOf(options).findIndex((it) => it === label);
    const chosen = options[at];
    return chosen ? selected(chosen) : { outcome: "cancelled" };
  }
  const allowed =
    ofKind(options, isLasting ? "allow_always" : "allow_once", "allow_once") ??
    // The only way to allow lasts: whoever saw that and allowed it, means it.
    options.find((it) => it.kind === "allow_always");
  return allowed ? selected(allowed) : { outcome: "cancelled" };
}

/** Whether an outcome lets the agent go on with what it asked for. */
export function isAllowing(outcome: RequestPermissionOutcome, options: Options): boolean {
  if (outcome.outcome !== "selected") return false;
  const chosen = options.find((it) => it.optionId === outcome.optionId);
  return chosen?.kind === "allow_once" || chosen?.kind === "allow_always";
}

/** The kind that is meant, or the one that stands in for it. */
function ofKind(
  options: Options,
  kind: PermissionOption["kind"],
  otherwise: PermissionOption["kind"],
): PermissionOption | undefined {
  return options.find((it) => it.kind === kind) ?? options.find((it) => it.kind === otherwise);
}

function selected({ optionId }: PermissionOption): RequestPermissionOutcome {
  return { outcome: "selected", optionId };
}

function labelsOf(options: Options): string[] {
  return options.map(({ name, optionId }, at) =>
    options.findIndex((it) => it.name === name) < at ? `${name} (${optionId})` : name,
  );
}

/** An input that a person edited cannot be handed to an agent of this protocol. */
export const refuseEdits: NonNullable<Question["check"]> = () => {
  throw new Error(
    "this agent takes no edited input: allow the call as it is, or deny it and tell the agent what to do instead",
  );
};
