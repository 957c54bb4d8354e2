// What a model is told of a program that ended: its value, what it printed and its images, or why it failed and what to
// do next.

import { toBase64 } from "./base64.ts";
import type { CollectedImage } from "./image-collector.ts";
import type { Execution } from "./port.ts";

export type ContentBlock =
  | { readonly type: "text"; readonly text: string }
  /** `data` is base64. */
  | { readonly type: "image"; readonly mimeType: string; readonly data: string };

const printedLimit = 32_768;

export function contentOf(
  { result, printed, calls }: Execution,
  images: readonly CollectedImage[],
): ContentBlock[] {
  const texts = [
    ...(printed === "" ? [] : [`Printed:\n${shortened(printed)}`]),
    result.ok ? valueText(result.value, printed !== "") : failureText(result, calls),
  ];
  return [
    { type: "text", text: texts.join("\n\n") },
    ...images.flatMap(({ number, mediaType, bytes }): ContentBlock[] => [
      { type: "text", text: `Image ${number}:` },
      { type: "image", mimeType: mediaType, data: toBase64(bytes) },
    ]),
  ];
}

function valueText(value: unknown, hasPrinted: boolean): string {
  if (value === undefined)
    return hasPrinted
      ? "It returned nothing."
      : "It ran and returned nothing: return what you want to see.";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return hasPrinted ? `Returned:\n${text}` : text;
}

function failureText(
  { reason, message }: Extract<Execution["result"], { ok: false }>,
  calls: number,
): string {
  const done =
    calls === 0
      ? "It made no calls."
      : `It made ${calls} call${calls === 1 ? "" : "s"} before, and what those did stays done.`;
  return `The program failed (${reason}): ${message}\n${done} ${advice(reason, message)}`;
}

function advice(reason: "error" | "limit" | "aborted" | "diverged", message: string): string {
  switch (reason) {
    case "error":
      if (message.endsWith("[unknown_operation]"))
        return 'Find what there is with capabilities.search("…").';
      if (message.endsWith("[invalid_input]"))
        return 'See what it takes with capabilities.describe(["…"]).';
      return "Mend the code, or catch the error where the program can go on without that call.";
    case "limit":
      return "Write a program that does less at once.";
    case "aborted":
      return "Do not run it again unless you are asked to.";
    case "diverged":
      return "It can be run again from its start; see first what is done already.";
  }
}

/** The beginning and the end of what was printed. */
function shortened(printed: string): string {
  const text = printed.trimEnd();
  if (text.length <= printedLimit) return text;
  const head = text.slice(0, printedLimit / 4);
  const tail = text.slice(-printedLimit / 2);
  return `${head.toWellFormed()}\n[${text.length - head.length - tail.length} characters left out]\n${tail.toWellFormed()}`;
}
