// What a turn's model is offered of the agent's capabilities, once everything that the folder declares is attached or
// known not to be had now.

import { namespacesText } from "@lichen/capability/execute";
import { type After, capabilityTools, type CapabilityTools, type Tool } from "@lichen/engine";
import { createQuickJsExecutor, type QuickJsExecutor } from "@lichen/engine/node";
import type { NamedConnection } from "../../folder/connection-set.ts";
import type { Diagnostic } from "../../folder/definition.ts";
import { Declared } from "../declared.ts";
import type { Work } from "../work.ts";
import type { NodeCapabilities } from "./node-capabilities.ts";

/** What a turn waits for servers that are not there yet. */
const patienceMs = 10_000;

export interface Wanted {
  readonly connections: readonly NamedConnection[];
  /** The agent's other tools. */
  readonly tools: readonly Tool[];
  readonly directUpTo?: number | undefined;
}

export interface Offered extends CapabilityTools {
  /** What the model is told beside its tools. */
  readonly instructions?: string;
}

export class Offer {
  readonly #capabilities: NodeCapabilities;
  readonly #after: After;
  readonly #declared: Promise<Declared>;
  #executor: QuickJsExecutor | undefined;
  #known: Declared | undefined;

  constructor(capabilities: NodeCapabilities, after: After) {
    this.#capabilities = capabilities;
    this.#after = after;
    this.#declared = capabilities.adopted.then(
      ({ registry }) => (this.#known = new Declared(registry)),
    );
  }

  /** What of the declared could not be attached, as far as it is known. */
  get diagnostics(): readonly Diagnostic[] {
    return this.#known?.diagnostics ?? [];
  }

  /** Begins to attach what is new; settles when all is as declared. */
  async declare(connections: readonly NamedConnection[]): Promise<void> {
    await allDone((await this.#declared).sync(connections));
  }

  /** What a turn has waited for in vain, the next ones do not wait for: until it is there, or declared otherwise. */
  async #attached(connections: readonly NamedConnection[]): Promise<void> {
    const works = (await this.#declared).sync(connections).filter(({ isGivenUp }) => !isGivenUp);
    if (works.length === 0) return;
    const late = Promise.withResolvers<void>();
    const cancel = this.#after(patienceMs, () => late.resolve());
    await Promise.race([allDone(works), late.promise]);
    cancel();
    for (const work of works) work.isGivenUp = !work.isOver;
  }

  /** Undefined where the agent has no capabilities. */
  async of(wanted: Wanted): Promise<Offered | undefined> {
    await this.#attached(wanted.connections);
    const { registry, source } = await this.#capabilities.adopted;
    if (registry.list().length === 0) return undefined;
    const tools = capabilityTools({
      source,
      executor: (this.#executor ??= createQuickJsExecutor()),
      taken: wanted.tools.map(({ name }) => name),
      ...(wanted.directUpTo === undefined ? {} : { threshold: wanted.directUpTo }),
    });
    if (tools.offered === "direct") return tools;
    const services = namespacesText(source.surface());
    if (services === "") return tools;
    return { ...tools, instructions: `# Services\n\nPrograms of execute reach:\n\n${services}` };
  }

  async close(): Promise<void> {
    await this.#executor?.close();
    await this.#capabilities.close();
  }
}

async function allDone(works: readonly Work[]): Promise<void> {
  await Promise.all(works.map(({ done }) => done));
}
