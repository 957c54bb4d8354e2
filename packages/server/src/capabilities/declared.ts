// Keeps an agent's capabilities as its folder declares them: what is new is attached, what changed is attached anew
// under its name, what is gone is detached. What its owner attached by hand stays as it is.
//
//   Each capability has an order of its own: what is done about one never waits for another.

import type { AttachRequest, CapabilityRow } from "@lichen/capability";
import { JsonObject } from "@lichen/wire";
import type { NamedConnection } from "../folder/connection-set.ts";
import type { Diagnostic } from "../folder/definition.ts";
import { Work } from "./work.ts";

/** What is asked of the registry. */
export interface Attached {
  list(): readonly CapabilityRow[];
  attach(request: AttachRequest): Promise<CapabilityRow>;
  refresh(id: string): Promise<CapabilityRow>;
  detach(id: string): Promise<void>;
}

export class Declared {
  readonly #attached: Attached;
  readonly #works = new Map<string, Work>();
  #known: readonly NamedConnection[] | undefined;

  constructor(attached: Attached) {
    this.#attached = attached;
  }

  /** What could not be done, as far as it is known. */
  get diagnostics(): readonly Diagnostic[] {
    return [...this.#works.values()].flatMap(({ wrong }) => wrong);
  }

  /**
   * Begins what is to be done, and answers what is not over. A server that cannot be reached is no fault here (its
   * capability stays requested, with its problem). Costs nothing where nothing changed.
   */
  sync(connections: readonly NamedConnection[]): Work[] {
    if (this.#known !== connections) this.#begin(connections);
    this.#known = connections;
    return [...this.#works.values()].filter(({ isOver }) => !isOver);
  }

  #begin(connections: readonly NamedConnection[]): void {
    const rows = this.#attached.list();
    const wanted = new Map(connections.map((named) => [named.name, named]));
    const concerned = rows.filter(({ file, state }) => file !== undefined || state === "requested");
    const ids = [...concerned.map(({ id }) => id), ...this.#works.keys(), ...wanted.keys()];
    for (const id of new Set(ids)) {
      const row = rows.find((it) => it.id === id);
      const before = this.#works.get(id);
      const named = wanted.get(id);
      const text = named === undefined ? "" : JSON.stringify(named);
      const isSame = before?.text === text;
      if (isSame && !before.isOver) continue;
      if (named === undefined && row === undefined && (before?.isOver ?? true)) {
        this.#works.delete(id);
        continue;
      }
      const begin = async () => {
        if (before && !before.isOver) await this.#giveUp(id, before);
        // It may be wanted otherwise by now.
        if (this.#works.get(id) !== work) return [];
        return named === undefined ? this.#unwanted(id) : this.#wanted(named);
      };
      const last = isSame && {
        wrong: before.wrong,
        isGivenUp: before.isGivenUp && row?.state === "requested",
      };
      const work: Work = new Work(text, begin, last || undefined);
      this.#works.set(id, work);
    }
  }

  /** What it was wanted as is not waited for. */
  async #giveUp(id: string, before: Work): Promise<void> {
    const row = this.#row(id);
    if (row?.state === "requested" && row.file !== undefined)
      await this.#attached.detach(id).then(none, none);
    await before.done;
  }

  async #wanted(named: NamedConnection): Promise<Diagnostic[]> {
    const again = this.#tryAgain(named.name);
    const wrong = await told(named.file, () => this.#attach(requestOf(named)));
    await again;
    return wrong;
  }

  async #unwanted(id: string): Promise<Diagnostic[]> {
    const row = this.#row(id);
    if (row?.file === undefined) return this.#tryAgain(id);
    return row.state === "releasing" ? [] : told(row.file, () => this.#attached.detach(id));
  }

  /** What made a server unreachable may be mended by now; hosts of one command end before it is tried again by itself. */
  async #tryAgain(id: string): Promise<Diagnostic[]> {
    if (this.#row(id)?.state !== "requested") return [];
    return this.#attached.refresh(id).then(none, none);
  }

  async #attach(request: AttachRequest): Promise<void> {
    const row = this.#row(request.id);
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

  #row(id: string | undefined): CapabilityRow | undefined {
    return this.#attached.list().find((row) => row.id === id);
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
