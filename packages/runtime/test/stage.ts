// A stage for the owner's suites: one database of a host, one clock, and the lives of owners that follow each other.

import type { Baseline, Command, CommandOf, Entry, Settlement } from "@lichen/wire";
import type {
  AccessRules,
  CapabilityOptions,
  Engine,
  MetaRules,
  Session,
  Sql,
} from "../src/index.ts";
import { openOwner } from "../src/index.ts";
import { type EngineScript, scriptedEngine } from "../src/testing/index.ts";
import { Clock } from "./clock.ts";
import { Life } from "./life.ts";

export interface LifeOptions {
  readonly engine?: Engine | EngineScript;
  readonly capacity?: number;
  readonly only?: string;
  readonly approvalTtlMs?: number;
  readonly meta?: MetaRules;
  readonly capabilities?: CapabilityOptions;
  readonly access?: AccessRules;
  /** Agents of this life; one called `a` by default. */
  readonly agents?: readonly string[];
}

export class Stage {
  readonly sql: Sql;
  readonly clock = new Clock();
  /** What the owners told their platform; a test takes out what it expects. */
  readonly reports: unknown[] = [];
  readonly #lives: Life[] = [];
  #ids: number;

  /** `ids` is where made-up ids begin: another place for a database that an earlier stage wrote. */
  constructor(sql: Sql, ids = 0) {
    this.sql = sql;
    this.#ids = ids;
  }

  /** A further owner of the same store. Whoever lives already goes on living: `die` or `close` it first. */
  async open(options: LifeOptions = {}): Promise<Life> {
    const { engine, agents = ["a"], capabilities, access, ...rest } = options;
    const life = new Life(
      this.sql,
      this.clock,
      () => `x${(++this.#ids).toString(36)}`,
      (error) => this.reports.push(error),
    );
    this.#lives.push(life);
    const owner = openOwner({ sql: life.sql, platform: life.platform, ...rest });
    life.begin(owner);
    const own = { ...(capabilities ? { capabilities } : {}), ...(access ? { access } : {}) };
    for (const agent of agents)
      life.meet(await owner.attach({ agent, engine: engineOf(engine), ...own }));
    return life;
  }

  end(): void {
    for (const life of this.#lives) life.die();
  }
}

function engineOf(given: Engine | EngineScript | undefined): Engine {
  return given === undefined || typeof given === "function" || Array.isArray(given)
    ? scriptedEngine(given as EngineScript | undefined)
    : (given as Engine);
}

export function prompt(
  requestId: string,
  extra: Partial<Omit<CommandOf<"prompt">, "type" | "requestId">> = {},
): CommandOf<"prompt"> {
  return { type: "prompt", requestId, text: `text of ${requestId}`, ...extra };
}

export function line(requestId: string, text = `line of ${requestId}`): CommandOf<"line"> {
  return { type: "line", requestId, text };
}

/** Sends a command that gets a command id, and answers that. */
export async function sent(session: Session, command: Command): Promise<string> {
  const { commandId } = await session.send(command);
  if (commandId === undefined) throw new Error(`a ${command.type} got no command id`);
  return commandId;
}

/** Waits for the settlement. The clock stands still, so only the settlement ends this wait. */
export async function settled(session: Session, commandId: string): Promise<Settlement> {
  const settlement = await session.readSettlement(commandId, { timeoutMs: 30_000 });
  if (!settlement) throw new Error(`${commandId} did not settle`);
  return settlement;
}

/** Sends a prompt and waits for its end. */
export async function run(session: Session, requestId: string): Promise<Settlement> {
  return settled(session, await sent(session, prompt(requestId)));
}

/** Every entry of the session, oldest first. */
export async function entriesOf(session: Session): Promise<Entry[]> {
  let page: Baseline = await session.read();
  const entries = [...page.entries];
  while (page.more) {
    page = await session.read({ before: entries[0]!.seq });
    entries.unshift(...page.entries);
  }
  return entries;
}

export async function kindsOf(session: Session): Promise<string[]> {
  return (await entriesOf(session)).map((entry) => entry.kind);
}

/** The code of the refusal that a promise ends in. */
export function refusal(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "no refusal",
    (error: unknown) =>
      error instanceof Error && "code" in error ? String(error.code) : `a bug: ${String(error)}`,
  );
}

/** A promise that a test opens. */
export function gate<T = void>(): { readonly opened: Promise<T>; open(value: T): void } {
  const { promise, resolve } = Promise.withResolvers<T>();
  return { opened: promise, open: resolve };
}
