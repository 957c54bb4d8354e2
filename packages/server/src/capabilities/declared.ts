// Keeps an agent's capabilities as its folder declares them: what is new is attached, what changed is attached anew
// under its name, what is gone is detached. What its owner attached by hand stays as it is.

import type { AttachRequest, CapabilityRow } from "@lichen/capability";
import { JsonObject } from "@lichen/wire";
import type { NamedConnection } from "../folder/connection-set.ts";
import type { Diagnostic } from "../folder/definition.ts";

/** What is asked of the registry. */
export interface Attached {
  list(): readonly CapabilityRow[];
  attach(request: AttachRequest): Promise<CapabilityRow>;
  refresh(id: string): Promise<CapabilityRow>;
  detach(id: string): Promise<void>;
}

export class Declared {
  readonly #attached: Attached;
  #known: readonly NamedConnection[] | undefined;
  #last: Promise<readonly Diagnostic[]> = Promise.resolve([]);

  constructor(attached: Attached) {
    this.#attached = attached;
  }

  /**
   * Settles when everything is as declared, with what could not be done; a server that cannot be reached is no fault
   * here (its capability stays requested, with its problem). Costs nothing where nothing changed.
   */
  sync(connections: readonly NamedConnection[]): Promise<readonly Diagnostic[]> {
    if (this.#known === connections) return this.#last;
    const kept = new Set(connections.map((named) => JSON.stringify(named)));
    const changed = (this.#known ?? []).filter((named) => !kept.has(JSON.stringify(named)));
    this.#known = connections;
    this.#last = Promise.all([this.#last, this.#giveUp(changed)]).then(() =>
      this.#sync(connections),
    );
    return this.#last;
  }

  /** What is wanted otherwise by now, or no more, is not waited for. */
  async #giveUp(changed: readonly NamedConnection[]): Promise<void> {
    const asked = this.#attached.list().filter(({ id, state, file }) => {
      const isOurs = file !== undefined && changed.some(({ name }) => name === id);
      return isOurs && state === "requested";
    });
    await Promise.all(asked.map(({ id }) => this.#attached.detach(id).then(none, none)));
  }

  async #sync(connections: readonly NamedConnection[]): Promise<Diagnostic[]> {
    const requests = new Map(connections.map((named) => [named.name, requestOf(named)]));
    const gone = this.#attached
      .list()
      .filter(
        ({ id, file, state }) => file !== undefined && state !== "releasing" && !requests.has(id),
      );
    // What made a server unreachable may be mended by now; hosts of one command end before it is tried again by itself.
    const left = this.#attached
      .list()
      .filter(({ state, id }) => state === "requested" && !gone.some((row) => row.id === id));
    const works = [
      ...left.map(({ id }) => this.#attached.refresh(id).then(none, none)),
      ...gone.map(({ id, file = "" }) => told(file, () => this.#attached.detach(id))),
      ...connections.map(({ name, file }) => told(file, () => this.#attach(requests.get(name)!))),
    ];
    return (await Promise.all(works)).flat();
  }

  async #attach(request: AttachRequest): Promise<void> {
    const row = this.#attached.list().find(({ id }) => id === request.id);
    if (row && row.file === undefined)
      throw new Error(
        `"${row.id}" is the id of a capability that was attached by hand: detach that one, or rename this connection`,
      );
    try {
      await this.#attached.attach(request);
    } catch (error) {
      if (!row || !isConflict(error)) throw error;
      await this.#attached.detach(row.id);
      await this.#attached.attach(request);
    }
  }
}

/** Its row says what is wrong. */
function none(): Diagnostic[] {
  return [];
}

/** The capability that a connection asks for; its name is the identity. */
function requestOf({ name, file, connection }: NamedConnection): AttachRequest {
  const { kind, namespace, description, auth, labels, grant, ...config } = connection;
  return {
    id: name,
    kind,
    // Keys that are there and undefined are none.
    config: JsonObject.parse(JSON.parse(JSON.stringify(config))),
    ...(auth === undefined ? {} : { auth }),
    namespace: namespace ?? name,
    ...(description === undefined ? {} : { description }),
    ...(labels === undefined ? {} : { labels }),
    ...(grant === undefined ? {} : { grant }),
    keep: true,
    again: true,
    file,
  };
}

async function told(file: string, work: () => Promise<unknown>): Promise<Diagnostic[]> {
  try {
    await work();
    return [];
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return [
      {
        severity: "error",
        file,
        problem: problem.replace(/\.$/, ""),
        fix: "correct it: it is read again before the next turn",
      },
    ];
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "conflict";
}
