// Which model and level a session uses, and how much of its context is taken: asked of the host, once for each model.

import type { Agent, View } from "@lichen/client";
import { Fault, type ModelInfo, type Reasoning, type SessionInfo } from "@lichen/wire";

export class ModelInUse {
  readonly #changed: () => void;
  #agent: Agent | undefined;
  #default: string | undefined;
  #reasoning: Reasoning | undefined;
  readonly #known = new Map<string, ModelInfo | undefined>();

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** From here on the host is asked. */
  begin(agent: Agent): void {
    this.#agent = agent;
    void this.#ask("");
  }

  of(info: SessionInfo | undefined): string | undefined {
    return info?.model ?? this.#default;
  }

  /** Undefined for a model that takes none. */
  reasoningOf(info: SessionInfo | undefined): Reasoning | undefined {
    const levels = this.#infoOf(info)?.reasoning;
    if (levels?.length === 0) return undefined;
    return info?.reasoning ?? this.#reasoning;
  }

  /** The levels that the model of a session takes. */
  async levels(info: SessionInfo | undefined): Promise<readonly Reasoning[]> {
    const model = this.of(info);
    if (model === undefined || this.#agent === undefined) return [];
    return (await this.find(model))?.reasoning ?? [];
  }

  /** What is known of a model by its whole name. */
  async find(model: string): Promise<ModelInfo | undefined> {
    const known = this.#known.get(model);
    if (known !== undefined || this.#agent === undefined) return known;
    const { models } = await this.#agent.models({ q: model, limit: 20 });
    return models.find((info) => info.model === model);
  }

  /** The newest message tells how many tokens the whole conversation took. */
  contextOf(view: View | undefined): { tokens: number; window: number } | undefined {
    const window = this.#infoOf(view?.session)?.contextWindow;
    if (view === undefined || window === undefined) return undefined;
    for (let at = view.items.length - 1; at >= 0; at--) {
      const item = view.items[at]!;
      if (item.type === "compaction" || item.type === "conversation") return undefined;
      if (item.type !== "assistant" || item.usage === undefined) continue;
      const { input, output, cacheRead, cacheWrite } = item.usage;
      return { tokens: input + output + cacheRead + cacheWrite, window };
    }
    return undefined;
  }

  #infoOf(info: SessionInfo | undefined): ModelInfo | undefined {
    const model = this.of(info);
    if (model === undefined) return undefined;
    if (!this.#known.has(model)) void this.#ask(model);
    return this.#known.get(model);
  }

  async #ask(model: string): Promise<void> {
    if (this.#agent === undefined) return;
    this.#known.set(model, undefined);
    try {
      const query = model === "" ? { limit: 1 } : { q: model, limit: 20 };
      const page = await this.#agent.models(query);
      this.#default = page.default;
      this.#reasoning = page.reasoning;
      for (const info of page.models) this.#known.set(info.model, info);
      this.#changed();
    } catch (error) {
      // An older host, or none just now: the next frame that needs it asks again.
      if (Fault.is(error) && error.retryable) this.#known.delete(model);
      else if (!Fault.is(error)) throw error;
    }
  }
}
