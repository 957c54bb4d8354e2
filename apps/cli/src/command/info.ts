// `lichen info`: what an agent folder holds, what is wrong with it, where its state is and whether a host serves it.

import { createModels, type ModelChoice } from "@lichen/engine";
import { fileCredentials } from "@lichen/engine/node";
import {
  connectHost,
  credentialsPath,
  loadDefinition,
  type LoadedDefinition,
} from "@lichen/server/node";
import { Fault } from "@lichen/wire";
import type { Input } from "../command.ts";
import { modelNamed, variable } from "../model-name.ts";
import { type Place, placeOf } from "../place.ts";
import { describeProblem } from "../problem.ts";
import type { Terminal } from "../terminal.ts";

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const place = await placeOf(input);
  const loaded = await loadDefinition(place.agentDir);
  const [model, connection] = await Promise.all([
    modelOf(input, loaded),
    connectHost(place.stateDir),
  ]);
  const url = connection.found === "host" ? connection.url : undefined;
  const report = reportOf(place, loaded, model, url);
  terminal.answer(input.flag("json") ? `${JSON.stringify(report)}\n` : shown(report));
  if (!input.flag("json")) {
    for (const diagnostic of loaded.diagnostics)
      terminal.say(describeProblem(diagnostic).join(": "));
  }
  return 0;
}

type Model =
  | Pick<ModelChoice, "spec" | "state" | "why">
  | { readonly state: "unknown"; readonly spec: string; readonly why: string };

/** A model that cannot be had is part of the report, not the end of it. */
async function modelOf(input: Input, { definition, modelsJson }: LoadedDefinition): Promise<Model> {
  const models = createModels({
    env: variable,
    credentials: fileCredentials(credentialsPath()),
    ...(modelsJson === undefined ? {} : { modelsJson }),
  });
  const asked =
    modelNamed(input.value("model")) ?? variable("LICHEN_MODEL") ?? definition.config.model;
  try {
    const { spec, state, why } = await models.whichModel(asked);
    return { spec, state, why };
  } catch (error) {
    if (!Fault.is(error)) throw error;
    return { spec: asked ?? "none", state: "unknown", why: error.message };
  }
}

function reportOf(
  place: Place,
  { definition, diagnostics }: LoadedDefinition,
  model: Model,
  url: string | undefined,
) {
  const { codingTools = true } = definition.config;
  return {
    agent: place.agentId,
    name: definition.name,
    folder: place.agentDir,
    state: place.stateDir,
    ...(url === undefined ? {} : { url }),
    model,
    tools: definition.tools.map(({ name, label, confirm, deferred }) => ({
      name,
      label,
      asksFirst: confirm !== undefined && confirm !== false,
      isDeferred: deferred === true,
    })),
    codingTools,
    skills: definition.skills.map(({ name, description }) => ({ name, description })),
    connections: definition.connections.map(({ name, file, connection }) => ({
      name,
      kind: connection.kind,
      file,
    })),
    context: definition.contextFiles.map(({ path }) => path),
    hasPersona: definition.persona !== undefined,
    diagnostics,
  };
}

function shown(report: ReturnType<typeof reportOf>): string {
  const { codingTools, model } = report;
  const coding = Array.isArray(codingTools) ? codingTools.join(", ") : codingTools ? "all" : "";
  const tools = report.tools.map(({ name, label, asksFirst, isDeferred }) => {
    const notes = [
      label,
      ...(asksFirst ? ["asks first"] : []),
      ...(isDeferred ? ["deferred"] : []),
    ];
    return `${name} (${notes.join(", ")})`;
  });
  const rows: [string, string][] = [
    ["agent", `${report.name} (${report.agent})`],
    ["folder", report.folder],
    ["state", report.state],
    ["host", report.url ?? "none runs"],
    ["model", `${model.spec} (${model.state}). ${model.why}`],
    ["persona", report.hasPersona ? "persona.md" : "the built-in one: there is no persona.md"],
    ["context", report.context.join(", ") || "none"],
    ["coding tools", coding || "none"],
    ["tools", tools.join(", ") || "none"],
    [
      "connections",
      report.connections.map(({ name, kind }) => `${name} (${kind})`).join(", ") || "none",
    ],
    ["skills", report.skills.map(({ name }) => name).join(", ") || "none"],
  ];
  return rows.map(([name, value]) => `${name.padEnd(14)}${value}\n`).join("");
}
