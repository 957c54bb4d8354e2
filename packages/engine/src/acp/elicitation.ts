// A form that an agent asks to be filled in, as questions to a person, and their answers as the form's content.

import type { Answer } from "@lichen/runtime";
import { Json } from "@lichen/wire";
import type { CreateElicitationResponse } from "@agentclientprotocol/sdk";
import * as z from "zod";
import { answersOf, type AskedQuestion } from "../asking.ts";

const Titled = z.object({ const: z.string(), title: z.string() });

const Property = z.object({
  type: z.string(),
  title: z.string().nullish().catch(undefined),
  description: z.string().nullish().catch(undefined),
  enum: z.array(z.string()).nullish().catch(undefined),
  oneOf: z.array(Titled).nullish().catch(undefined),
  items: z
    .object({ enum: z.array(z.string()).optional(), anyOf: z.array(Titled).optional() })
    .optional()
    .catch(undefined),
});

const Form = z.object({
  mode: z.literal("form"),
  message: z.string(),
  requestedSchema: z.object({
    properties: z.record(z.string(), Property).optional(),
    required: z.array(z.string()).nullish(),
  }),
});

interface Field {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly asked: AskedQuestion;
  /** The form's values by the labels that stand for them. */
  readonly values: ReadonlyMap<string, string>;
}

export interface Form {
  readonly message: string;
  readonly fields: readonly Field[];
}

/** The form of a request; nothing where it is none that can be shown. */
export function formOf(request: unknown): Form | undefined {
  const parsed = Form.safeParse(request);
  if (!parsed.success) return undefined;
  const { message, requestedSchema } = parsed.data;
  const properties = Object.entries(requestedSchema.properties ?? {});
  const fields = properties.map(([name, property]): Field => {
    const values = valuesOf(property);
    const titles = properties.map(([key, it]) => it.title ?? key);
    const title = property.title ?? name;
    const question = titles.filter((it) => it === title).length > 1 ? `${title} (${name})` : title;
    return {
      ...{ name, type: property.type, values },
      isRequired: requestedSchema.required?.includes(name) ?? false,
      asked: {
        question: property.description ? `${question}: ${property.description}` : question,
        ...(values.size > 0 ? { options: [...values.keys()].map((label) => ({ label })) } : {}),
        ...(property.type === "array" ? { multiSelect: true } : {}),
      },
    };
  });
  return { message, fields };
}

export function questionsOf({ fields, message }: Form): Json[] {
  if (fields.length === 0) return [{ question: message, options: [{ label: "OK" }] }];
  return fields.map(({ asked }) => Json.parse(asked));
}

/** Texts of the fields that may be left out. */
export function optionalIn({ fields }: Form): string[] {
  return fields.flatMap(({ isRequired, asked }) => (isRequired ? [] : [asked.question]));
}

/** What the agent is answered. A required field that was left out declines the form. */
export function filledIn({ fields }: Form, answer: Answer): CreateElicitationResponse {
  if (answer.outcome === "withdrawn") return { action: "cancel" };
  const given = answersOf(
    fields.map((field) => field.asked),
    answer,
  );
  if (given.outcome !== "answered") return { action: "decline" };
  const content: Record<string, string | number | boolean | string[]> = {};
  for (const field of fields) {
    const text = given.answers[field.asked.question];
    const value = text === undefined ? undefined : valueOf(field, text);
    if (value !== undefined) content[field.name] = value;
    else if (field.isRequired) return { action: "decline" };
  }
  return { action: "accept", content };
}

function valuesOf(property: z.infer<typeof Property>): Map<string, string> {
  if (property.type === "boolean")
    return new Map([
      ["Yes", "true"],
      ["No", "false"],
    ]);
  const { enum: plain, oneOf, items } = property;
  const titled = oneOf ?? items?.anyOf;
  if (titled) return new Map(titled.map((it) => [it.title, it.const]));
  return new Map((plain ?? items?.enum ?? []).map((it) => [it, it]));
}

function valueOf(field: Field, text: string): string | number | boolean | string[] | undefined {
  switch (field.type) {
    case "array":
      return text.split(", ").map((label) => field.values.get(label) ?? label);
    case "boolean":
      return /^(yes|true|y|1)$/i.test(text.trim());
    case "number":
    case "integer": {
      const number = Number(text);
      return Number.isFinite(number) && text.trim() !== "" ? number : undefined;
    }
    default:
      return field.values.get(text) ?? text;
  }
}
