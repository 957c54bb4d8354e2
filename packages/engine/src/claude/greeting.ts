// What Claude Code says of itself when it is greeted: its commands and models.

import type { ModelCatalogue } from "@lichen/runtime";
import { Fault, type JsonObject } from "@lichen/wire";
import * as z from "zod";

const Greeting = z.looseObject({
  commands: z
    .array(
      z.looseObject({
        name: z.string(),
        description: z.string().catch(""),
        argumentHint: z.string().catch(""),
      }),
    )
    .catch([]),
  models: z
    .array(z.looseObject({ value: z.string(), displayName: z.string().optional() }))
    .catch([]),
});

export interface ClaudeCommand {
  /** Without its slash. */
  readonly name: string;
  readonly description: string;
  readonly argumentHint: string;
}

export interface Greeting {
  readonly commands: readonly ClaudeCommand[];
  readonly models: readonly { readonly value: string; readonly name: string }[];
}

/** What is known before any process has said more. */
export const noGreeting: Greeting = {
  commands: [],
  models: ["default", "sonnet", "opus", "haiku"].map((value) => ({ value, name: value })),
};

export function greetingOf(response: JsonObject): Greeting {
  const { commands, models } = Greeting.parse(response);
  return {
    commands: commands.map(({ name, description, argumentHint }) => ({
      name,
      description,
      argumentHint,
    })),
    models:
      models.length === 0
        ? noGreeting.models
        : models.map(({ value, displayName }) => ({ value, name: displayName ?? value })),
  };
}

const provider = "anthropic/";

export function catalogueOf({ models }: Greeting): ModelCatalogue {
  return {
    models: models.map(({ value, name }) => ({
      model: `${provider}${value}`,
      name,
      reasoning: [],
      isReady: true,
    })),
    default: `${provider}default`,
  };
}

/** A session's model as Claude Code names it. */
export function modelOf(model: string | undefined): string {
  if (model === undefined) return "default";
  return model.startsWith(provider) ? model.slice(provider.length) : model;
}

/** Refuses what cannot be the name of a model; which there are is Claude Code's own affair. */
export function checkModel(model: string | undefined, { models }: Greeting): void {
  const name = modelOf(model);
  const isKnown = models.some(({ value }) => value === name);
  if (isKnown || /^[A-Za-z][\w.:@/-]{2,120}(\[1m\])?$/.test(name)) return;
  throw new Fault(
    "invalid",
    `There is no model ${name} for Claude Code. It has ${models.map(({ value }) => value).join(", ")}, and takes full names such as claude-sonnet-5.`,
  );
}
