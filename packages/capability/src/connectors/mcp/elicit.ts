// A server's questions to a person, put into our words, and what the person said put into its.
//
//   A field of its form is one question. What nobody answers is left out; where nothing at all is answered, or nobody can
//   be asked, the server hears `cancel`.

import type { CallContext } from "../../connector.ts";
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

/** Asks what `params` of an `elicitation/create` wants to know. */
export async function elicit(params: unknown, ask: Ask | undefined): Promise<ElicitAnswer> {
  if (!ask || !isObject(params) || (params["mode"] ?? "form") !== "form")
    return { action: "cancel" };
  const schema = isObject(params["requestedSchema"]) ? params["requestedSchema"] : {};
  const fields = fieldsOf(schema);
  const message = typeof params["message"] === "string" ? plain(params["message"]) : undefined;
  if (fields.length === 0)
    fields.push({
      name: "",
      question: { question: message ?? "Go on?", options: [{ label: "Yes" }, { label: "No" }] },
      read: (answer) => answer === "Yes",
    });
  const answers = await ask(
    fields.map((field) => field.question),
    message,
  );
  const content: Record<string, Value> = {};
  for (const { name, question, read } of fields) {
    const answer = answers[question.question];
    const value = typeof answer === "string" ? read(answer) : undefined;
    if (value !== undefined) content[name] = value;
  }
  if (Object.keys(content).length === 0 && Object.keys(answers).length === 0)
    return { action: "cancel" };
  if (content[""] !== undefined) return content[""] === true ? accepted({}) : { action: "decline" };
  return accepted(content);
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
    let question = plain(about.filter((one) => typeof one === "string").join(": "), 500);
    // An answer is found by its question.
    while (asked.has(question)) question += ` (${plain(name, 100)})`;
    asked.add(question);
    return [fieldOf(name, question, field)];
  });
}

function fieldOf(name: string, question: string, field: JsonObject): Field {
  const items = isObject(field["items"]) ? field["items"] : undefined;
  const choices = choicesOf(items ?? field);
  const valueOf = (label: string) => choices.find((choice) => choice.label === label)?.value;
  const options = choices.map(({ label }) => ({ label }));
  if (items)
    return {
      name,
      question: { question, options, multiSelect: true },
      read: (answer) => answer.split(", ").map((label) => valueOf(label) ?? label),
    };
  if (choices.length > 0)
    return { name, question: { question, options }, read: (answer) => valueOf(answer) ?? answer };
  if (field["type"] === "boolean")
    return {
      name,
      question: { question, options: [{ label: "Yes" }, { label: "No" }] },
      read: (answer) => /^(?:y|yes|true)$/i.test(answer.trim()),
    };
  if (field["type"] === "number" || field["type"] === "integer")
    return {
      name,
      question: { question },
      read: (answer) =>
        Number.isFinite(Number(answer)) && answer.trim() ? Number(answer) : undefined,
    };
  return { name, question: { question }, read: (answer) => answer };
}

function choicesOf(field: JsonObject): { label: string; value: string }[] {
  const titled = field["oneOf"] ?? field["anyOf"];
  if (Array.isArray(titled))
    return titled.flatMap((one: Json) => {
      if (!isObject(one) || typeof one["const"] !== "string") return [];
      const title = typeof one["title"] === "string" ? one["title"] : one["const"];
      return [{ label: plain(title, 200), value: one["const"] }];
    });
  const names = Array.isArray(field["enumNames"]) ? field["enumNames"] : [];
  const values = Array.isArray(field["enum"]) ? field["enum"] : [];
  return values.flatMap((value: Json, index) => {
    if (typeof value !== "string") return [];
    const label: Json | undefined = names[index];
    return [{ label: plain(typeof label === "string" ? label : value, 200), value }];
  });
}
