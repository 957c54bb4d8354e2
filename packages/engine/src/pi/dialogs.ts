// An extension's dialog as a question to a person, and their answer as pi expects it.

import type { Answer } from "@lichen/runtime";
import type { JsonObject } from "@lichen/wire";
import type { Dialog } from "./codec.ts";

const header = "pi";
const yes = "Yes";

/** The question of a dialog; its text is the key of its answer. */
export function questionOf(dialog: Dialog): JsonObject {
  const labels = dialog.method === "confirm" ? [yes, "No"] : dialog.options;
  return {
    question: textOf(dialog),
    header,
    ...(labels.length > 0 ? { options: labels.map((label) => ({ label })) } : {}),
    multiSelect: false,
  };
}

function textOf({ title, message, placeholder, prefill, method }: Dialog): string {
  const more = [message, placeholder && `(${placeholder})`, prefill].filter(Boolean);
  return [title || `pi asks (${method})`, ...more].join("\n");
}

/** Whoever allows a confirmation without a word says yes. */
export function optionalIn(dialog: Dialog): string[] {
  return dialog.method === "confirm" ? [textOf(dialog)] : [];
}

/** What pi is told of a decision. */
export function replyTo(dialog: Dialog, answer: Answer): JsonObject {
  const reply = { type: "extension_ui_response", id: dialog.id };
  const said = answer.outcome === "allowed" ? saidIn(dialog, answer) : undefined;
  if (dialog.method === "confirm" && answer.outcome === "allowed")
    return { ...reply, confirmed: said === undefined || said.toLowerCase() === "yes" };
  return said === undefined ? cancelled(dialog) : { ...reply, value: said };
}

export function cancelled({ id }: Dialog): JsonObject {
  return { type: "extension_ui_response", id, cancelled: true };
}

/** The answer to the question, or a message in its place. */
function saidIn(dialog: Dialog, { answers = {}, message }: Answer): string | undefined {
  const [only] = Object.values(answers);
  const said = answers[textOf(dialog)] ?? only ?? message;
  return typeof said === "string" ? said : undefined;
}
