// The person before the screen as a capability: data to look at, and questions.
//
//   M66  What is shown reaches people only, in a shape that every screen can draw; a question waits for its answer.

import type { Connector } from "../../connector.ts";
import { OperationError } from "../../failure.ts";
import type { JsonObject } from "../../json.ts";
import type { Operation } from "../../operation.ts";
import type { CapabilityFactory } from "../../registry/factory.ts";
import { checkInput } from "../check-input.ts";
import { hint } from "../nearest.ts";
import { refuseUnknown } from "../read-config.ts";

const title: JsonObject = { type: "string", maxLength: 200 };
const cell: JsonObject = { type: ["string", "number", "boolean", "null"] };

const shapes: readonly JsonObject[] = [
  shape("markdown", { text: { type: "string", minLength: 1, maxLength: 50_000 } }),
  shape("list", {
    items: { type: "array", maxItems: 500, items: { type: "string", maxLength: 2_000 } },
  }),
  shape("table", {
    columns: {
      type: "array",
      minItems: 1,
      maxItems: 30,
      items: { type: "string", maxLength: 200 },
    },
    rows: { type: "array", maxItems: 500, items: { type: "array", maxItems: 30, items: cell } },
  }),
  shape("chart", {
    points: {
      type: "array",
      minItems: 1,
      maxItems: 500,
      items: {
        type: "object",
        properties: { label: { type: "string", maxLength: 200 }, value: { type: "number" } },
        required: ["label", "value"],
        additionalProperties: false,
      },
    },
  }),
];

const question: JsonObject = {
  type: "object",
  properties: {
    question: { type: "string", minLength: 1, maxLength: 2_000 },
    header: { type: "string", maxLength: 100 },
    options: {
      type: "array",
      maxItems: 12,
      items: {
        type: "object",
        properties: {
          label: { type: "string", minLength: 1, maxLength: 200 },
          description: { type: "string", maxLength: 1_000 },
        },
        required: ["label"],
        additionalProperties: false,
      },
    },
    multiSelect: { type: "boolean" },
  },
  required: ["question"],
  additionalProperties: false,
};

const operations: readonly Operation[] = [
  {
    name: "show",
    description:
      "Shows the person a text in Markdown, a list, a table or a chart of bars, beside the conversation.",
    label: "read",
    input: {
      type: "object",
      properties: { display: { oneOf: shapes } },
      required: ["display"],
      additionalProperties: false,
    },
  },
  {
    name: "ask",
    description:
      "Asks the person 1 to 8 questions, with options to choose from or without, and waits for the answers.",
    label: "read",
    input: {
      type: "object",
      properties: {
        questions: { type: "array", minItems: 1, maxItems: 8, items: question },
        description: { type: "string", maxLength: 2_000 },
      },
      required: ["questions"],
      additionalProperties: false,
    },
    output: {
      type: "object",
      additionalProperties: { type: "string" },
      description: "By question.",
    },
  },
];

export interface UiConnectorOptions {
  /** Of the capability's row. */
  readonly id: string;
  readonly namespace: string;
  readonly description?: string;
}

export function createUiConnector({ id, namespace, description }: UiConnectorOptions): Connector {
  return {
    id,
    kind: "ui",
    namespace,
    ...(description === undefined ? {} : { description }),
    operations: async () => operations,
    async call(name, input, context) {
      const operation = operations.find((it) => it.name === name);
      if (!operation)
        throw new OperationError(
          "unknown_operation",
          `There is no operation ${name.slice(0, 100)}.${hint(name, ["show", "ask"])}`,
        );
      checkInput(name, input, operation.input);
      context.signal.throwIfAborted();
      if (name === "show") {
        context.display(shown(input));
        return {};
      }
      const { questions, description: about } = input as {
        questions: readonly JsonObject[];
        description?: string;
      };
      if (!context.ask)
        throw new OperationError(
          "unavailable",
          "Nobody can be asked here: go on without the answer.",
        );
      return await context.ask(questions, about);
    },
  };
}

/** A row has as many cells as there are columns. */
function shown(input: JsonObject): JsonObject {
  const display = input["display"] as JsonObject;
  if (display["type"] !== "table") return display;
  const { columns, rows } = display as { columns: readonly string[]; rows: readonly unknown[][] };
  const wrong = rows.findIndex((row) => row.length !== columns.length);
  if (wrong < 0) return display;
  throw new OperationError(
    "invalid_input",
    `Row ${wrong + 1} of the table has ${rows[wrong]?.length} cells, and there are ${columns.length} columns.`,
  );
}

function shape(type: string, properties: JsonObject): JsonObject {
  return {
    type: "object",
    properties: { type: { const: type }, title, ...properties },
    required: ["type", ...Object.keys(properties)],
    additionalProperties: false,
  };
}

export function uiFactory(): CapabilityFactory {
  return {
    kind: "ui",
    check(config) {
      refuseUnknown("ui", config, []);
      return {};
    },
    create: ({ id, namespace, description }) => createUiConnector({ id, namespace, description }),
  };
}
