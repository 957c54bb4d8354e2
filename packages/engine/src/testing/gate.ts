// Named gates: an answer waits at one until somebody opens it, and a test can wait until an answer is there.

export class Gates {
  readonly #opened = new Map<string, PromiseWithResolvers<void>>();
  readonly #reached = new Map<string, PromiseWithResolvers<void>>();

  open(name: string): void {
    at(this.#opened, name).resolve();
  }

  /** Settles once the gate is open; it stays open. */
  pass(name: string): Promise<void> {
    at(this.#reached, name).resolve();
    return at(this.#opened, name).promise;
  }

  /** Settles once somebody came to the gate. */
  reached(name: string): Promise<void> {
    return at(this.#reached, name).promise;
  }
}

function at(
  gates: Map<string, PromiseWithResolvers<void>>,
  name: string,
): PromiseWithResolvers<void> {
  const known = gates.get(name);
  if (known) return known;
  const made = Promise.withResolvers<void>();
  gates.set(name, made);
  return made;
}
