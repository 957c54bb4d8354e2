// Names of what an agent asks a person: each request has one of its own, unlike that of any other process's, also where
// the agent uses an id again. By its name an answer is known to be given.
//
//   - The line of a request has its name in the log only where somebody is asked, or has answered.

import type { Json, JsonObject } from "@lichen/wire";

/** What all of them begin with. */
export const requestNames = "acp-";

export class RequestNames {
  readonly #process: string;
  /** How often each id was used so far. */
  readonly #times = new Map<string, number>();
  /** Lines of requests that nobody was asked so far, and that have no answer. */
  readonly #lines = new Map<string, Json>();

  /** Of a process, by its group and when that began. */
  constructor({ group, startedAt }: { readonly group: number; readonly startedAt: string }) {
    this.#process = `${requestNames}${group}-${startedAt}`;
  }

  /** The line of a request that has just come. */
  came(line: Json): void {
    const { id } = fieldsOf(line);
    this.#times.set(keyOf(id), this.#timesOf(id) + 1);
    this.#lines.set(keyOf(id), line);
  }

  /** The line of the request that came last under this id, with its name: somebody is asked now, or has answered. */
  shown(id: unknown): JsonObject {
    const { _meta: meta, ...line } = fieldsOf(this.#lines.get(keyOf(id)));
    this.#lines.delete(keyOf(id));
    return { ...line, _meta: { ...fieldsOf(meta), prompt: this.of(id) } };
  }

  /** The request under this id has its answer. Its line, where nobody was asked. */
  answered(id: unknown): Json | undefined {
    const line = this.#lines.get(keyOf(id));
    this.#lines.delete(keyOf(id));
    return line;
  }

  /** The name of the request that came last under this id. */
  of(id: unknown): string {
    return `${this.#process}-${this.#timesOf(id)}-${keyOf(id)}`;
  }

  #timesOf(id: unknown): number {
    return this.#times.get(keyOf(id)) ?? 0;
  }
}

function fieldsOf(value: Json | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

/** Ids are numbers or texts. */
function keyOf(id: unknown): string {
  return typeof id === "string" ? id : JSON.stringify(id ?? null);
}
