// The models of a running pi: which there are, and which one and which level it is set to.

import type { ModelCatalogue } from "@lichen/runtime";
import { type Json, type JsonObject, type ModelInfo, Reasoning } from "@lichen/wire";
import type { OwnModel } from "../harness/own-model.ts";
import { isObject, numberAt, objectAt, textAt } from "./codec.ts";
import type { Requests } from "./requests.ts";

const namedModels = 5;

export class Catalogue {
  readonly #requests: Requests;
  readonly #own: OwnModel;
  #models: readonly JsonObject[] | undefined;
  #current: string | undefined;
  level: string | undefined;

  constructor(requests: Requests, own: OwnModel) {
    this.#requests = requests;
    this.#own = own;
  }

  /** `state`: what a process that has just begun says of itself. */
  begin(state: JsonObject): void {
    this.#current = specOf(objectAt(state, "model"));
    this.level = textAt(state, "thinkingLevel") || undefined;
    // Only who chooses a model needs to know them.
    this.#load().catch(() => {});
  }

  end(): void {
    this.#current = undefined;
    this.level = undefined;
  }

  /** As of the newest process; none before the first. */
  list(): ModelCatalogue {
    return {
      models: (this.#models ?? []).map(infoOf),
      ...(this.#current === undefined ? {} : { default: this.#current }),
      ...reasoningOf(this.level),
    };
  }

  /** False where it is known that pi has no such model. */
  mayHave(spec: string): boolean {
    return this.#models === undefined || this.#models.some((model) => specOf(model) === spec);
  }

  /** Sets pi to what a session wants, back to its own model where it wants none any more; answers why it could not. */
  async set(wanted: { model?: string; reasoning?: Reasoning }): Promise<string | undefined> {
    const { reasoning } = wanted;
    const model = wanted.model ?? this.#own.name;
    if (model !== undefined && model !== this.#current) {
      if (wanted.model !== undefined) await this.#own.leaving(this.#current);
      const at = model.indexOf("/");
      const [provider, modelId] = [model.slice(0, Math.max(at, 0)), model.slice(at + 1)];
      const { success, error, data } = await this.#requests.ask({
        type: "set_model",
        provider,
        modelId,
      });
      // Its own, where that is gone, is whatever pi took in its place.
      if (!success && (wanted.model !== undefined || this.mayHave(model)))
        return this.#refusal(model, error);
      if (success) this.#current = specOf(data) ?? model;
    }
    if (wanted.model === undefined) await this.#own.regained();
    if (reasoning === undefined || reasoning === this.level) return undefined;
    const { success, error } = await this.#requests.ask({
      type: "set_thinking_level",
      level: reasoning,
    });
    return success ? undefined : `pi cannot be set to the level ${reasoning}: ${error}`;
  }

  async #refusal(model: string, error: string): Promise<string> {
    await this.#load().catch(() => {});
    const known = (this.#models ?? []).flatMap((one) => specOf(one) ?? []);
    if (known.includes(model)) return `pi cannot be set to ${model}: ${error}`;
    const some = known.slice(0, namedModels).join(", ");
    const others = known.length > namedModels ? " and others" : "";
    const these = some === "" ? "" : `; it has ${some}${others}`;
    return `pi has no model ${model}${these}. Choose another for the session, or clear its model`;
  }

  async #load(): Promise<void> {
    const { success, data } = await this.#requests.ask({ type: "get_available_models" });
    const { models } = data;
    if (success && Array.isArray(models))
      this.#models = models.filter((one: Json) => isObject(one));
  }
}

function specOf(model: JsonObject): string | undefined {
  const [provider, id] = [textAt(model, "provider"), textAt(model, "id")];
  return provider === "" || id === "" ? undefined : `${provider}/${id}`;
}

function infoOf(model: JsonObject): ModelInfo {
  const name = textAt(model, "name");
  const contextWindow = numberAt(model, "contextWindow");
  return {
    model: specOf(model) ?? "",
    reasoning: model["reasoning"] === true ? levelsOf(objectAt(model, "thinkingLevelMap")) : [],
    isReady: true,
    ...(name === "" ? {} : { name }),
    ...(contextWindow > 0 ? { contextWindow } : {}),
  };
}

/** Levels through `high` are there unless the model says otherwise, higher ones only where it does. */
function levelsOf(map: JsonObject): Reasoning[] {
  return Reasoning.options.filter((level) => {
    const mapped = map[level];
    if (level === "xhigh" || level === "max") return mapped !== undefined && mapped !== null;
    return mapped !== null;
  });
}

function reasoningOf(level: string | undefined): { reasoning?: Reasoning } {
  const known = Reasoning.safeParse(level);
  return known.success ? { reasoning: known.data } : {};
}
