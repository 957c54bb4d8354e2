// Commands to pi and its answers, by id.

import { Fault, type JsonObject } from "@lichen/wire";
import type { HarnessProcess } from "../harness/process.ts";
import { type PiResponse, textAt } from "./codec.ts";

const answerMs = 60_000;

export interface RequestsOptions {
  after(ms: number, wake: () => void): () => void;
}

export class Requests {
  readonly #options: RequestsOptions;
  readonly #open = new Map<string, PromiseWithResolvers<PiResponse>>();
  #process: HarnessProcess | undefined;
  #count = 0;

  constructor(options: RequestsOptions) {
    this.#options = options;
  }

  begin(process: HarnessProcess): void {
    this.#process = process;
  }

  /** The process is gone: whoever waits for an answer gets none. */
  end(reason: string): void {
    this.#process = undefined;
    for (const { reject } of this.#open.values()) reject(gone(reason));
    this.#open.clear();
  }

  newId(): string {
    return `lichen-${++this.#count}`;
  }

  async tell(line: JsonObject): Promise<void> {
    if (!this.#process) throw gone("it does not run");
    await this.#process.write(line);
  }

  /** Rejects (`unavailable`) where the process goes before its answer, or has none for a minute. */
  async ask(command: JsonObject): Promise<PiResponse> {
    const id = this.newId();
    const answer = Promise.withResolvers<PiResponse>();
    this.#open.set(id, answer);
    const cancel = this.#options.after(answerMs, () =>
      answer.reject(
        new Fault("unavailable", `pi did not answer ${textAt(command, "type")} in a minute.`),
      ),
    );
    try {
      await this.tell({ id, ...command });
      return await answer.promise;
    } finally {
      cancel();
      this.#open.delete(id);
    }
  }

  /** True where somebody waited for this answer. */
  answered(response: PiResponse): boolean {
    const answer = response.id === undefined ? undefined : this.#open.get(response.id);
    answer?.resolve(response);
    return answer !== undefined;
  }
}

function gone(reason: string): Fault {
  return new Fault("unavailable", `pi's process is gone: ${reason}.`);
}
