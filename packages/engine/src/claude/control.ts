// Requests to Claude Code that it answers, each within its time.

import { Fault, type JsonObject } from "@lichen/wire";
import type { HarnessClock } from "../harness/port.ts";
import type { HarnessProcess } from "../harness/process.ts";
import { requestLine } from "./outgoing.ts";

interface Waiting {
  resolve(response: JsonObject): void;
  reject(error: Error): void;
}

const patienceMs = 30_000;

export class Control {
  readonly #clock: HarnessClock;
  readonly #waiting = new Map<string, Waiting>();
  #count = 0;

  constructor(clock: HarnessClock) {
    this.#clock = clock;
  }

  /** Rejects (`unavailable`) where it is refused, not answered in half a minute, or the process ends. */
  async ask(
    process: HarnessProcess,
    request: JsonObject & { readonly subtype: string },
  ): Promise<JsonObject> {
    const id = `lichen-${++this.#count}`;
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    this.#waiting.set(id, { resolve, reject });
    const { subtype } = request;
    const cancel = this.#clock.after(patienceMs, () =>
      reject(new Fault("unavailable", `Claude Code did not answer ${subtype} in half a minute.`)),
    );
    try {
      // Both at once: what waits to be written is not waited for longer than the answer, and neither fails unheard.
      const [response] = await Promise.all([promise, process.write(requestLine(id, request))]);
      return response;
    } finally {
      cancel();
      this.#waiting.delete(id);
    }
  }

  reply({ id, response, error }: { id: string; response?: JsonObject; error?: string }): void {
    const waiting = this.#waiting.get(id);
    if (error === undefined) waiting?.resolve(response ?? {});
    else waiting?.reject(new Fault("unavailable", `Claude Code refused: ${error}`));
  }

  /** The process is gone, and answers nothing any more. */
  over(reason: string): void {
    for (const waiting of this.#waiting.values())
      waiting.reject(new Fault("unavailable", `Claude Code ended: ${reason}.`));
  }
}
