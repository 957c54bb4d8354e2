// One call that the code made and whose outcome it does not have yet: from its binding to its outcome.

import { type Json, OperationError } from "@lichen/capability";
import { type Bindings, ProgramEnd } from "@lichen/capability/execute";
import type { Limits } from "./limits.ts";
import { outcomeOf } from "./outcome.ts";
import type { Ask, Outcome } from "./protocol.ts";

export class OpenCall {
  readonly ask: Ask;
  outcome: Outcome | undefined;
  #waiting = 0;

  constructor(ask: Ask) {
    this.ask = ask;
  }

  get name(): string {
    return nameOf(this.ask);
  }

  /** Nothing happens in it by itself: it has its outcome, or waits for a person. */
  get isQuiet(): boolean {
    return this.outcome !== undefined || this.#waiting > 0;
  }

  isFor(ask: Ask): boolean {
    const { namespace, operation, input } = this.ask;
    return namespace === ask.namespace && operation === ask.operation && input === ask.input;
  }

  /** Calls the binding; `changed` is told when it begins or ends to wait for a person. */
  async perform(
    bindings: Bindings,
    limits: Limits,
    signal: AbortSignal,
    changed: () => void,
  ): Promise<Outcome> {
    const { namespace, operation, input, ordinal } = this.ask;
    const operations = Object.hasOwn(bindings, namespace) ? bindings[namespace] : undefined;
    const binding =
      operations && Object.hasOwn(operations, operation) ? operations[operation] : undefined;
    if (!binding)
      throw new ProgramEnd(
        "diverged",
        `The program calls ${this.name}, which is no longer there, so it cannot go on.`,
      );
    const parsed: Json | undefined = input === undefined ? undefined : JSON.parse(input);
    const waits = () => {
      this.#waiting++;
      changed();
      let isWaiting = true;
      return () => {
        if (!isWaiting) return;
        isWaiting = false;
        this.#waiting--;
        changed();
      };
    };
    const refusal = (answer: unknown): Error | undefined => {
      const outcome = outcomeOf(this.name, answer, limits);
      return outcome.ok ? undefined : new OperationError(outcome.code, outcome.message);
    };
    const call = { ordinal, signal, waits, refusal };
    return outcomeOf(this.name, await binding(parsed, call), limits);
  }
}

export function nameOf({ namespace, operation }: Ask): string {
  return `${namespace}.${operation}`;
}
