// The agent folder, as a host would read it, and the model it would run on.

import { createModels, type Models } from "@lichen/engine";
import { fileCredentials } from "@lichen/engine/node";
import { credentialsPath, loadDefinition, type LoadedDefinition } from "@lichen/server/node";
import { Fault } from "@lichen/wire";
import { variable } from "../model-name.ts";
import { commandName } from "../typed.ts";
import { type Check, fail, note, ok } from "./check.ts";

export interface Examined {
  readonly checks: readonly Check[];
  /** Undefined where it cannot be read at all. */
  readonly loaded: LoadedDefinition | undefined;
}

/** Runs the folder's own code, as `info` and every start do. */
export async function checkFolder(agentDir: string): Promise<Examined> {
  let loaded: LoadedDefinition;
  try {
    loaded = await loadDefinition(agentDir);
  } catch (error) {
    if (!Fault.is(error)) throw error;
    return {
      checks: [fail("folder", `${agentDir} cannot be used`, error.message)],
      loaded: undefined,
    };
  }
  const { definition, diagnostics } = loaded;
  const { tools, skills } = definition;
  const holds = `${tools.length} ${tools.length === 1 ? "tool" : "tools"}, ${skills.length} ${skills.length === 1 ? "skill" : "skills"}`;
  return {
    checks: [
      ok("folder", `${definition.name} in ${agentDir}: ${holds}`),
      ...diagnostics.map(({ severity, file, problem, fix }) =>
        severity === "error"
          ? fail("folder", `${file}: ${problem}`, fix)
          : note("folder", `${file}: ${problem}`, fix),
      ),
    ],
    loaded,
  };
}

/** Which model would answer, and for which providers a key or a login is at hand. No provider is asked. */
export async function checkModels(loaded: LoadedDefinition | undefined): Promise<Check[]> {
  let models: Models;
  try {
    models = createModels({
      env: variable,
      credentials: fileCredentials(credentialsPath()),
      ...(loaded?.modelsJson === undefined ? {} : { modelsJson: loaded.modelsJson }),
    });
  } catch (error) {
    if (!Fault.is(error)) throw error;
    return [fail("model", "models.json cannot be used", error.message)];
  }
  return [await modelOf(models, loaded), await keysOf(models)];
}

async function modelOf(models: Models, loaded: LoadedDefinition | undefined): Promise<Check> {
  const asked = variable("LICHEN_MODEL") || loaded?.definition.config.model;
  try {
    const choice = await models.whichModel(asked);
    if (choice.state === "missing")
      return fail(
        "model",
        choice.why,
        `or sign in with \`${commandName()} login ${choice.spec.split("/")[0]}\``,
      );
    if (choice.isDemo && asked === undefined)
      return note(
        "model",
        "no model was named and no key was found, so the built-in demo would answer",
        `\`${commandName()} login <provider>\` gets a real one`,
      );
    return ok("model", `${choice.spec}. ${choice.why}`);
  } catch (error) {
    if (!Fault.is(error)) throw error;
    return fail("model", `${asked ?? "none"} cannot be used`, error.message);
  }
}

async function keysOf(models: Models): Promise<Check> {
  try {
    const found = (await models.listProviders()).flatMap(({ id, found: at }) => {
      if (!at) return [];
      const kind = at.way === "account" ? "login" : "key";
      return [`${id} (${at.isStored ? `stored ${kind}` : (at.source ?? kind)})`];
    });
    return found.length > 0
      ? ok("credentials", found.join(", "))
      : note(
          "credentials",
          "no key and no login of any provider was found",
          `${commandName()} login <provider>`,
        );
  } catch (error) {
    if (!Fault.is(error)) throw error;
    return fail("credentials", `${credentialsPath()} cannot be used`, error.message);
  }
}
