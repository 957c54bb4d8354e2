// Commands to pi and its answers, by id.

import { Fault, type JsonObject } from "@lichen/wire";
import type { HarnessProcess } from "../harness/process.ts";
import { type PiResponse, textAt } from "./codec.ts";

const answerMs = 60_000;
const endMs = 5_000;

interface RequestsOptions {
  after(ms: number, wake: () => void): () => void;
}

export class Requests {
  readonly #options: RequestsOptions;
  readonly #open = new Map<string, PromiseWithResolvers<PiResponse>>();
  #process: HarnessProcess | undefined;
  /** Why the process ended, once it has. */
  #ended = Promise.withResolvers<string>();
  #count = 0;

  constructor(options: RequestsOptions) {
    this.#options = options;
  }

  begin(process: HarnessProcess): void {
    this.#process = process;
    this.#ended = Promise.withResolvers();
  }

  /** The process is gone: whoever waits for an answer gets none. */
  end(reason: string): void {
    this.#process = undefined;
    this.#ended.resolve(reason);
    for (const { reject } of this.#open.values()) reject(gone(reason));
    this.#open.clear();
  }

  newId(): string {
    return `lichen-${++this.#count}`;
  }

  async tell(line: JsonObject): Promise<void> {
    if (!this.#process) throw gone("it has not been started");
    try {
      await this.#process.write(line);
    } catch {
      throw gone(await this.#why());
    }
  }

  /** What listens no more has ended, or is about to. */
  #why(): Promise<string> {
    const late = new Promise<string>((resolve) => {
      this.#options.after(endMs, () => resolve("it listens no more"));
    });
    return Promise.race([this.#ended.promise, late]);
  }

  /** Rejects (`unavailable`) where the process goes before its answer, or has none for a minute. */
  async ask(command: JsonObject): Promise<PiResponse> {
    const id = this.newId();
    const answer = Promise.withResolvers<PiResponse>();
    // Who asks may hear of the process's end before this does.
    answer.promise.catch(() => {});
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
  return new Fault("unavailable", `pi does not run: ${reason}.`);
}
