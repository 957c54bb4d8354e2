// Namespaces: friendly names for capabilities, one owner each for ever.
//
//   A name that an identity has, or had, is never given to another one; names differ in more than their case.

import { freeName, identifierOf, isReservedNamespace } from "./names.ts";

export interface TakenName {
  readonly name: string;
  readonly identity: string;
}

export class NamespaceAllocator {
  readonly #owners = new Map<string, string>();

  /** `taken`: all names that were ever given, with those who have them. */
  constructor(taken: Iterable<TakenName> = []) {
    for (const { name, identity } of taken) this.#owners.set(name.toLowerCase(), identity);
  }

  /** A JavaScript identifier that reads like `preferred`: with a number behind it where another identity has that. */
  allocate(preferred: string, identity: string): string {
    const name = freeName(identifierOf(preferred, "connection"), (tried) => {
      const owner = this.ownerOf(tried);
      return !isReservedNamespace(tried) && (owner === undefined || owner === identity);
    });
    this.#owners.set(name.toLowerCase(), identity);
    return name;
  }

  /** Whose a name is, or was. */
  ownerOf(name: string): string | undefined {
    return this.#owners.get(name.toLowerCase());
  }
}
