// Names of what an agent asks a person: each request has one of its own, unlike that of any other process's, also where
// the agent uses an id again. By its name an answer is known to be given.

import type { Json } from "@lichen/wire";

export class RequestNames {
  readonly #process: string;
  /** How often each id was used so far. */
  readonly #times = new Map<string, number>();

  /** `process` names the agent's process. */
  constructor(process: string) {
    this.#process = process;
  }

  /** The line of a request that has just come, with its name. */
  named(line: Json): Json {
    if (typeof line !== "object" || line === null || Array.isArray(line)) return line;
    const { _meta: meta, id } = line;
    this.#times.set(keyOf(id), this.#timesOf(id) + 1);
    const others = typeof meta === "object" && !Array.isArray(meta) ? meta : {};
    return { ...line, _meta: { ...others, prompt: this.of(id) } };
  }

  /** The name of the request that came last under this id. */
  of(id: unknown): string {
    return `${this.#process}-${this.#timesOf(id)}-${keyOf(id)}`;
  }

  #timesOf(id: unknown): number {
    return this.#times.get(keyOf(id)) ?? 0;
  }
}

/** Ids are numbers or texts. */
function keyOf(id: unknown): string {
  return typeof id === "string" ? id : JSON.stringify(id ?? null);
}
