// Permissions that Claude Code asks for: what is offered to last, and how an answer is told to it.
//
//   CC12  What `always` would make last is shown with its rule and its scope, and exactly that is sent.

import type { Answer } from "@lichen/runtime";
import type { Json, JsonObject } from "@lichen/wire";
import * as z from "zod";
import type { PermissionRequest } from "./line.ts";

/** The tool whose permission is a person's answer. */
export const questionTool = "AskUserQuestion";

const Update = z.looseObject({
  type: z.string(),
  mode: z.string().optional(),
  destination: z.string().optional(),
  behavior: z.string().optional(),
  rules: z
    .array(z.looseObject({ toolName: z.string(), ruleContent: z.string().optional() }))
    .optional(),
  directories: z.array(z.string()).optional(),
});

const scopes: Record<string, string> = {
  session: "until its process ends",
  localSettings: "in this folder from now on",
  projectSettings: "for everyone who works in this folder",
  userSettings: "in all folders",
};

/**
 * What `always` makes last: each suggestion with a `title` that says its rule and scope. The wide switch to another mode
 * is offered only where nothing narrower is. Rules of a folder have no effect where it was never trusted: there they hold
 * for the process.
 */
export function offered(request: PermissionRequest, isTrusted: boolean): JsonObject[] {
  const updates = request.suggestions.flatMap((suggestion) => {
    const { data } = Update.safeParse(suggestion);
    return data ? [{ suggestion, data }] : [];
  });
  const narrow = updates.filter(({ data }) => data.type !== "setMode");
  const hasRules = narrow.some(({ data }) => data.type === "addRules");
  return (hasRules ? narrow : updates).map(({ suggestion, data }) => {
    const isLocal = data.destination === "localSettings";
    const destination = isLocal && !isTrusted ? "session" : (data.destination ?? "session");
    return { ...suggestion, destination, title: titleOf(data, destination) };
  });
}

function titleOf(update: z.infer<typeof Update>, destination: string): string {
  const scope = scopes[destination] ?? destination;
  if (update.type === "setMode") return `mode ${update.mode ?? ""}, ${scope}`;
  if (update.directories) return `folder ${update.directories.join(", ")}, ${scope}`;
  const rules = (update.rules ?? []).map(({ toolName, ruleContent }) =>
    ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`,
  );
  return `${rules.join(", ")}, ${scope}`;
}

/** The permission as Claude Code takes it. */
export function allowed(
  request: PermissionRequest,
  answer: Pick<Answer, "input" | "answers" | "always">,
  suggestions: readonly JsonObject[],
): JsonObject {
  const input = answer.input ?? request.input;
  const lasting = answer.always ? suggestions.map(({ title: _title, ...update }) => update) : [];
  return {
    behavior: "allow",
    updatedInput: answer.answers ? { ...input, answers: answer.answers } : input,
    ...(lasting.length > 0 ? { updatedPermissions: lasting } : {}),
  };
}

export function denied(answer: Pick<Answer, "outcome" | "message" | "interrupt">): JsonObject {
  const words =
    answer.outcome === "expired"
      ? "Nobody answered in time, so this was not allowed."
      : (answer.message ?? "The user does not want this.");
  return { behavior: "deny", message: words, ...(answer.interrupt ? { interrupt: true } : {}) };
}

/** Answers as Claude Code reads them: by the question's text. Nothing where none was given. */
export function answersOf(answer: Pick<Answer, "answers" | "message">, questions: readonly Json[]) {
  const given = answer.answers ?? {};
  if (Object.keys(given).length > 0) return given;
  const [only] = questions;
  const text =
    typeof only === "object" && only !== null && !Array.isArray(only)
      ? only["question"]
      : undefined;
  if (questions.length !== 1 || typeof text !== "string" || !answer.message) return undefined;
  return { [text]: answer.message };
}
