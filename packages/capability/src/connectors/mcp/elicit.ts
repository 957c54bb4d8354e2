// A server's questions to a person, put into our words, and what the person said put into its.
//
//   A field of its form is one question; what nobody answers is left out. Who denies it declines; where nobody can be
//   asked, or answers in time, the server hears `cancel`. A person is always told which server asks.

import type { CallContext } from "../../connector.ts";
import { OperationError } from "../../failure.ts";
import type { Json, JsonObject } from "../../json.ts";
import { isObject } from "../read-json.ts";
import type { ElicitAnswer } from "./sdk.ts";
import { plain } from "./trouble.ts";

type Ask = NonNullable<CallContext["ask"]>;
type Value = string | number | boolean | string[];

interface Field {
  readonly name: string;
  readonly question: JsonObject & { readonly question: string };
  readonly read: (answer: string) => Value | undefined;
}

/** What is asked at once, and how many options one question has. */
const most = { questions: 8, options: 12 };

/** Asks what `params` of an `elicitation/create` wants to know. `server`: what people call who asks. */
export async function elicit(
  params: unknown,
  ask: Ask | undefined,
  server: string,
): Promise<ElicitAnswer> {
  if (!ask || !isObject(params) || (params["mode"] ?? "form") !== "form")
    return { action: "cancel" };
  const schema = isObject(params["requestedSchema"]) ? params["requestedSchema"] : {};
  const fields = fieldsOf(schema);
  const message = typeof params["message"] === "string" ? plain(params["message"]) : undefined;
  const description = message === undefined ? `${server} asks.` : `${server} asks: ${message}`;
  try {
    if (fields.length === 0) {
      const question = message ?? "Go on?";
      const answers = await ask([{ question, options: yesOrNo }], description);
      const answer = answers[question];
      return typeof answer === "string" && isYes(answer) ? accepted({}) : { action: "decline" };
    }
    const content: Record<string, Value> = {};
    for (let from = 0; from < fields.length; from += most.questions) {
      const some = fields.slice(from, from + most.questions);
      const answers = await ask(
        some.map((field) => field.question),
        description,
      );
      for (const { name, question, read } of some) {
        const answer = answers[question.question];
        const value = typeof answer === "string" ? read(answer) : undefined;
        if (value !== undefined) content[name] = value;
      }
    }
    return accepted(content);
  } catch (error) {
    const isDenied = error instanceof OperationError && error.code === "denied";
    return { action: isDenied ? "decline" : "cancel" };
  }
}

const yesOrNo = [{ label: "Yes" }, { label: "No" }];

function isYes(answer: string): boolean {
  return /^(?:y|yes|true)$/i.test(answer.trim());
}

function accepted(content: Record<string, Value>): ElicitAnswer {
  return { action: "accept", content };
}

function fieldsOf(schema: JsonObject): Field[] {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const asked = new Set<string>();
  return Object.entries(properties).flatMap(([name, field]) => {
    if (!isObject(field) || name === "__proto__") return [];
    const about = [field["title"] ?? name, field["description"]];
    let question = plain(about.filter((one) => typeof one === "string").join(": ") || "?", 500);
    // An answer is found by its question.
    while (asked.has(question)) question += ` (${plain(name, 100)})`;
    asked.add(question);
    return [fieldOf(name, question, field)];
  });
}

function fieldOf(name: string, asked: string, field: JsonObject): Field {
  const items = isObject(field["items"]) ? field["items"] : undefined;
  const choices = choicesOf(items ?? field);
  const valueOf = (label: string) =>
    choices.find((choice) => choice.label === label)?.value ?? label;
  const labels = choices.map(({ label }) => label);
  const isLong = labels.length > most.options;
  const question = isLong ? plain(`${asked} (one of ${labels.join("; ")})`) : asked;
  const options =
    isLong || labels.length === 0 ? {} : { options: labels.map((label) => ({ label })) };
  if (items)
    return {
      name,
      question: { question, ...options, ...(isLong ? {} : { multiSelect: true }) },
      read: (answer) => answer.split(", ").map(valueOf),
    };
  if (labels.length > 0) return { name, question: { question, ...options }, read: valueOf };
  if (field["type"] === "boolean")
    return { name, question: { question, options: yesOrNo }, read: isYes };
  if (field["type"] === "number" || field["type"] === "integer")
    return {
      name,
      question: { question },
      read: (answer) =>
        answer.trim() && Number.isFinite(Number(answer)) ? Number(answer) : undefined,
    };
  return { name, question: { question }, read: (answer) => answer };
}

function choicesOf(field: JsonObject): { label: string; value: string }[] {
  const titled = field["oneOf"] ?? field["anyOf"];
  if (Array.isArray(titled))
    return titled.flatMap((one: Json) => {
      if (!isObject(one) || typeof one["const"] !== "string") return [];
      const title = typeof one["title"] === "string" ? one["title"] : one["const"];
      return [{ label: labelOf(title), value: one["const"] }];
    });
  const names = Array.isArray(field["enumNames"]) ? field["enumNames"] : [];
  const values = Array.isArray(field["enum"]) ? field["enum"] : [];
  return values.flatMap((value: Json, index) => {
    if (typeof value !== "string") return [];
    const label: Json | undefined = names[index];
    return [{ label: labelOf(typeof label === "string" ? label : value), value }];
  });
}

/** Chosen labels are told together, with a comma and a space between them. */
function labelOf(text: string): string {
  return plain(text.slice(0, 200)).replaceAll(", ", " / ") || "(nothing)";
}
