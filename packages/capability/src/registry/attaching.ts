// Attaching: the wish is stored, the servers are asked at the same time, then all of the batch become active together.
//
//   G4  What is attached stays attached, with its operations, when its server is down; what cannot be reached when it is
//       attached ends released and its caller learns why, or stays requested where it is to be kept.

import { OperationError } from "../failure.ts";
import type { Operation } from "../operation.ts";
import type { JsonObject } from "../json.ts";
import { activeRow, checkedConfig, checkedId, requestedRow, requestText } from "./attach-plan.ts";
import type { AttachRequest, CapabilityRow, Problem } from "./capability-row.ts";
import { type Connections, detachedMessage } from "./connections.ts";
import { moved } from "./lifecycle.ts";
import { listedOperations } from "./listed-operations.ts";
import type { LiveCapability } from "./live-capability.ts";
import { RegistryError } from "./registry-error.ts";
import { visible } from "../visible.ts";
import type { RowBook } from "./row-book.ts";

export interface AttachingOptions {
  /** In ms. */
  now(): number;
  /** Letters and digits, unguessable. */
  randomId(length: number): string;
  /** SHA-256 of UTF-8 text, as hex. */
  sha256(text: string): string;
}

const mostAtOnce = 100;
/** UTF-16 units of a problem, which is stored. */
const mostUnits = 4_000;

type Asked =
  | { readonly live: LiveCapability; readonly operations: readonly Operation[] }
  | { readonly problem: Problem; readonly cause: unknown };

interface Opening {
  readonly abort: AbortController;
  readonly done: Promise<unknown>;
}

export class Attaching {
  readonly #options: AttachingOptions;
  readonly #book: RowBook;
  readonly #connections: Connections;
  readonly #openings = new Map<string, Opening>();

  constructor(options: AttachingOptions, book: RowBook, connections: Connections) {
    this.#options = options;
    this.#book = book;
    this.#connections = connections;
  }

  /** Attaches all or none; answers their ids. */
  async attach(requests: readonly AttachRequest[]): Promise<string[]> {
    if (requests.length > mostAtOnce)
      throw new RegistryError(
        "invalid",
        `At most ${mostAtOnce} capabilities are attached at once: make it several batches.`,
      );
    this.#connections.mustBeOpen();
    const checked = await Promise.all(
      requests.map(async (request) => ({
        request,
        config: await checkedConfig(request, this.#connections.factory(request.kind)),
      })),
    );
    const { ids, fresh } = await this.#book.exclusive(() => this.#request(checked));
    const waits = ids.flatMap((id) => this.#openings.get(id)?.done ?? []);
    if (fresh.length > 0) waits.push(this.#open(fresh, "release"));
    await Promise.all(waits);
    return ids;
  }

  /** Asks the server of one that is requested, or waits for who asks it already. What fails stays as it is, with its problem. */
  async tryAgain(row: CapabilityRow): Promise<void> {
    this.#connections.mustBeOpen();
    await (this.#openings.get(row.id)?.done ?? this.#open([row], "stay"));
  }

  /** It is not wanted any more. */
  abort(id: string, reason: OperationError): void {
    this.#openings.get(id)?.abort.abort(reason);
  }

  close(reason: OperationError): void {
    for (const id of this.#openings.keys()) this.abort(id, reason);
  }

  async #request(
    checked: readonly { readonly request: AttachRequest; readonly config: JsonObject }[],
  ): Promise<{ ids: string[]; fresh: CapabilityRow[] }> {
    this.#connections.mustBeOpen();
    const fresh: CapabilityRow[] = [];
    const ids: string[] = [];
    for (const { request, config } of checked) {
      const digest = this.#options.sha256(requestText(request));
      const id = this.#idOf(request);
      if (ids.includes(id))
        throw new RegistryError("conflict", `The batch names ${id} twice: give each its own id.`);
      ids.push(id);
      if (this.#isReplay(id, digest, request)) continue;
      const made = { id, digest, at: this.#options.now(), config };
      fresh.push(requestedRow(request, made, [...this.#book.rows(), ...fresh]));
    }
    if (fresh.length > 0) await this.#book.commit(fresh);
    return { ids, fresh };
  }

  /** Whether the very same is attached already; refuses where the id stands for something else. */
  #isReplay(id: string, digest: string, { again }: AttachRequest): boolean {
    const row = this.#book.get(id);
    if (!row) return false;
    if (row.state === "released") {
      if (again === true || row.problem) return false;
      throw new RegistryError(
        "conflict",
        `Capability ${id} was attached and detached: attach it under another id.`,
      );
    }
    if (row.state !== "releasing" && row.request === digest) return true;
    throw new RegistryError(
      "conflict",
      row.state === "releasing"
        ? `Capability ${id} is being detached: attach it again when it is gone.`
        : `Capability ${id} is attached with another configuration: detach it first, or use another id.`,
    );
  }

  #idOf({ id: named, requestId }: AttachRequest): string {
    if (named !== undefined) return checkedId(named);
    if (requestId !== undefined) return `cap_${this.#options.sha256(requestId).slice(0, 24)}`;
    for (;;) {
      const id = `cap_${this.#options.randomId(16)}`;
      if (!this.#book.get(id)) return id;
    }
  }

  #open(rows: readonly CapabilityRow[], failed: "release" | "stay"): Promise<void> {
    const abort = new AbortController();
    const done = this.#opening(rows, abort.signal, failed).finally(() => {
      for (const { id } of rows) this.#openings.delete(id);
    });
    for (const { id } of rows) this.#openings.set(id, { abort, done });
    return done;
  }

  async #opening(
    rows: readonly CapabilityRow[],
    signal: AbortSignal,
    failed: "release" | "stay",
  ): Promise<void> {
    const asked = new Map<string, Asked>();
    await Promise.all(
      rows.map(async (row) => void asked.set(row.id, await this.#ask(row, signal))),
    );
    try {
      await this.#book.exclusive(() => this.#activate(asked, failed));
    } catch (error) {
      for (const it of asked.values()) if ("live" in it) this.#connections.drop(it.live);
      throw error;
    }
  }

  async #ask(row: CapabilityRow, signal: AbortSignal): Promise<Asked> {
    try {
      return await this.#connections.try(row, signal);
    } catch (error) {
      return { problem: problemOf(error), cause: error };
    }
  }

  async #activate(asked: ReadonlyMap<string, Asked>, failed: "release" | "stay"): Promise<void> {
    const next: CapabilityRow[] = [];
    let failure: { row: CapabilityRow; problem: Problem; cause?: unknown } | undefined;
    for (const [id, it] of asked) {
      const row = this.#book.get(id)!;
      if (row.state !== "requested" || this.#connections.isClosed) {
        failure ??= { row, problem: { code: "detached", message: detachedMessage(id) } };
        continue;
      }
      const made = "live" in it ? this.#made(row, it, next) : it;
      if ("row" in made) next.push(made.row);
      else {
        if (failed === "release" && !row.keep) failure ??= { row, ...made };
        next.push({ ...row, problem: made.problem });
      }
    }
    if (failure) return this.#deny(asked, failure);
    // A server that is still away says nothing new.
    const changed = next.filter((row) => !isSame(this.#book.get(row.id)!, row));
    if (changed.length > 0) await this.#book.commit(changed);
    for (const { id, state } of next) {
      const it = asked.get(id)!;
      if ("live" in it && state === "active") this.#connections.keep(id, it.live);
      else if ("live" in it) this.#connections.drop(it.live);
    }
  }

  #made(
    row: CapabilityRow,
    { live, operations }: Extract<Asked, { live: LiveCapability }>,
    others: readonly CapabilityRow[],
  ): { row: CapabilityRow } | { problem: Problem; cause: unknown } {
    try {
      const active = { ...moved(row, "active"), ...listedOperations(operations, row) };
      return { row: activeRow(active, live.connector, [...this.#book.rows(), ...others]) };
    } catch (error) {
      return { problem: problemOf(error), cause: error };
    }
  }

  /** Nothing of the batch is attached. */
  async #deny(
    asked: ReadonlyMap<string, Asked>,
    { row, problem, cause }: { row: CapabilityRow; problem: Problem; cause?: unknown },
  ): Promise<void> {
    // What a stopping host leaves requested is finished by the next start.
    const denied = [...asked.keys()].flatMap((id): CapabilityRow[] => {
      const it = this.#book.get(id)!;
      if (it.state !== "requested" || this.#connections.isClosed) return [];
      const message = `${row.id}, attached in the same batch, failed: attach it without that, or again.`;
      return [
        { ...moved(it, "released"), problem: id === row.id ? problem : { code: "batch", message } },
      ];
    });
    if (denied.length > 0) await this.#book.commit(denied);
    throw attachFailed(row, problem, cause);
  }
}

function isSame(a: CapabilityRow, b: CapabilityRow): boolean {
  return a.state === b.state && JSON.stringify(a.problem) === JSON.stringify(b.problem);
}

export function problemOf(error: unknown): Problem {
  const code = error instanceof Error && "code" in error ? String(error.code) : "failed";
  const said = error instanceof Error ? error.message : String(error);
  return { code: code.slice(0, 100), message: visible(said).slice(0, mostUnits).toWellFormed() };
}

export function attachFailed(row: CapabilityRow, problem: Problem, cause?: unknown): RegistryError {
  return new RegistryError("attach_failed", `${row.namespace} (${row.kind}): ${problem.message}`, {
    cause: cause ?? new OperationError(problem.code, problem.message),
  });
}
