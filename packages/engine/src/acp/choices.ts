// What a session of the agent can be set to: its model, its level of reasoning, its mode; and how it is set.

import { methods } from "@agentclientprotocol/sdk";
import type { ModelCatalogue, Run } from "@lichen/runtime";
import { Fault, Reasoning } from "@lichen/wire";
import { diagnosticOf } from "../model/diagnostic.ts";
import type { OwnModel } from "../harness/own-model.ts";
import { errorOf, type Link } from "./link.ts";
import { type Modes, type Offered, offeredOf, type OpenedSession, type Update } from "./wire.ts";

interface Settings {
  readonly model?: string | undefined;
  readonly reasoning?: ReturnType<Run["settings"]>["reasoning"];
}

export class Choices {
  readonly #secrets: readonly string[];
  #offered: readonly Offered[] = [];
  #models: Offered | undefined;
  #modes: Modes | undefined;
  #isKnown = false;

  /** `secrets`: what the agent was given, and might say. */
  constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
  }

  opened({ offered, models, modes }: OpenedSession): void {
    this.#offered = offered;
    this.#models = models;
    this.#modes = modes;
    this.#isKnown = true;
  }

  /** The agent has begun once and told what it offers. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  heard(update: Update): void {
    if (update.sessionUpdate === "config_option_update")
      this.#offered = offeredOf(update.configOptions);
    if (update.sessionUpdate === "current_mode_update" && this.#modes)
      this.#modes = { ...this.#modes, current: update.currentModeId };
  }

  get modes(): Modes | undefined {
    return this.#modes;
  }

  /** The model that answers now, where the agent tells. */
  get model(): string | undefined {
    return this.#model?.current;
  }

  /** Empty before the agent has begun for the first time. */
  catalogue(): ModelCatalogue {
    const level = this.#level;
    const levels = level ? level.values.flatMap(({ value }) => levelOf(value)) : [];
    const models = (this.#model?.values ?? []).map(({ value, name }) => ({
      ...{ model: value, name, reasoning: levels, isReady: true },
    }));
    const [reasoning] = level ? levelOf(level.current) : [];
    return {
      models,
      ...(this.#model ? { default: this.#model.current } : {}),
      ...(reasoning ? { reasoning } : {}),
    };
  }

  /** Refuses a model that the agent does not offer, as far as that is known. */
  check({ model }: Settings): void {
    if (model === undefined || !this.#isKnown || this.#offers(model)) return;
    if (!this.#model)
      throw new Fault(
        "invalid",
        `model: this agent offers no choice of models: leave the session's model out, or clear it, and set the agent to ${model} in its own settings.`,
      );
    const some = this.#model.values.slice(0, 12).map((it) => it.value);
    throw new Fault(
      "invalid",
      `model: this agent offers no ${model}. It offers: ${some.join(", ") || "none"}. Choose one of these for the session, or clear its model.`,
    );
  }

  /**
   * Sets the agent's session to what ours is set to; back to its own model, which `own` keeps, where that is nothing any
   * more. Throws a Fault where it cannot be.
   */
  async apply(
    link: Link,
    sessionId: string,
    { settings: { model, reasoning }, own }: { settings: Settings; own: OwnModel },
  ): Promise<void> {
    this.check({ model });
    const wanted = model ?? own.name;
    if (this.#model && wanted !== undefined && wanted !== this.model && this.#offers(wanted)) {
      if (model !== undefined) await own.leaving(this.model);
      await this.#set(link, sessionId, this.#model, wanted);
    }
    if (model === undefined) await own.regained();
    const level = this.#level;
    const isOffered = level?.values.some((it) => it.value === reasoning) === true;
    if (level && isOffered && reasoning !== undefined && reasoning !== level.current)
      await this.#set(link, sessionId, level, reasoning);
  }

  /** Puts the agent into one of its modes. */
  async setMode(link: Link, sessionId: string, modeId: string): Promise<void> {
    const modes = this.#modes;
    if (!modes?.available.some((it) => it.id === modeId)) {
      const some = modes?.available.map((it) => it.id).join(", ") ?? "none";
      throw new Fault("invalid", `mode: this agent has no mode ${modeId}. It has: ${some}.`);
    }
    await this.#told(link, methods.agent.session.setMode, { sessionId, modeId });
    this.#modes = { ...modes, current: modeId };
  }

  async #told(link: Link, method: string, params: object): Promise<unknown> {
    try {
      return await link.request(method, params);
    } catch (error) {
      const words = diagnosticOf(errorOf(error).message, this.#secrets);
      throw new Fault("unavailable", `The agent refused: ${words}`, { cause: error });
    }
  }

  #offers(model: string): boolean {
    return this.#model?.values.some((it) => it.value === model) === true;
  }

  get #model(): Offered | undefined {
    return this.#offered.find((it) => it.category === "model" || it.id === "model") ?? this.#models;
  }

  get #level(): Offered | undefined {
    return this.#offered.find((it) => it.category === "thought_level");
  }

  async #set(link: Link, sessionId: string, option: Offered, value: string): Promise<void> {
    if (option === this.#models) {
      await this.#told(link, "session/set_model", { sessionId, modelId: value });
      this.#models = { ...option, current: value };
      return;
    }
    const params = { sessionId, configId: option.id, value };
    const answer = await this.#told(link, methods.agent.session.setConfigOption, params);
    const now =
      typeof answer === "object" && answer !== null && "configOptions" in answer
        ? offeredOf(answer.configOptions)
        : [];
    this.#offered =
      now.length > 0
        ? now
        : this.#offered.map((it) => (it === option ? { ...it, current: value } : it));
  }
}

function levelOf(value: string): Reasoning[] {
  const parsed = Reasoning.safeParse(value);
  return parsed.success ? [parsed.data] : [];
}
