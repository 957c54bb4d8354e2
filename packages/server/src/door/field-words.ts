// What is wrong with a field, in words that need no knowledge of the schema's language.

import type * as z from "zod";

/** What stands behind the field's name and a colon. */
export function fieldWords(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      if (issue.message.endsWith("received undefined")) return "missing";
      return `must be ${kinds[issue.expected] ?? issue.expected}`;
    case "too_small":
      return sized("at least", String(issue.minimum), issue.origin);
    case "too_big":
      return sized("at most", String(issue.maximum), issue.origin);
    case "invalid_value":
      return `must be ${listed(issue.values)}`;
    case "invalid_union":
      return "options" in issue && Array.isArray(issue.options)
        ? `must be ${listed(issue.options)}`
        : notTaken;
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "invalid_key":
    case "invalid_element":
    case "invalid_format":
    case "unrecognized_keys":
    case "custom":
      return notTaken;
  }
}

const notTaken = "not of a form that is taken here";

const kinds: Readonly<Record<string, string>> = {
  array: "a list",
  boolean: "true or false",
  int: "a whole number",
  number: "a number",
  object: "an object",
  record: "an object",
  string: "a text",
};

function sized(bound: string, count: string, origin: string): string {
  if (origin === "string") return `must have ${bound} ${counted(count, "character")}`;
  if (origin === "array") return `must have ${bound} ${counted(count, "item")}`;
  return `must be ${bound} ${count}`;
}

function counted(count: string, noun: string): string {
  return `${count} ${noun}${count === "1" ? "" : "s"}`;
}

/** Of the values that are taken; a missing field lacks one of them as well. */
function listed(values: readonly unknown[]): string {
  const [first, ...others] = values.map((value) => JSON.stringify(value));
  if (first === undefined) return "left out";
  const last = others.pop();
  return last === undefined ? first : `one of ${[first, ...others].join(", ")} or ${last}`;
}
