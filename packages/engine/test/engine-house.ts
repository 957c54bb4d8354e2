// The stage of the engine contract: what an engine's test plays, and a host around it on a real SQLite file.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, type Engine, openOwner, type Owner, type Session } from "@lichen/runtime";
import { nodePlatform, openSql, type SqlFile } from "@lichen/runtime/node";
import type {
  Approval,
  Command,
  CommandOf,
  Entry,
  EntryData,
  InlineImage,
  Kind,
  Settlement,
} from "@lichen/wire";

/** A turn as a stage has to play it. */
export type Plan =
  /** Says this text, and ends. */
  | { readonly kind: "answer"; readonly text: string }
  /**
   * Streams this text, then waits until it is released, and ends without saying more. With `calls` it makes a call before
   * its end, as for `call`, and says `done`.
   */
  | { readonly kind: "hold"; readonly text: string; readonly calls?: true }
  /** Ends in an error: of the model's provider, or of the agent itself. */
  | { readonly kind: "fail" }
  /** Makes one call, which needs nobody's permission and succeeds, then says `done`. */
  | { readonly kind: "call" }
  /** Makes one call that a person must allow, which then succeeds; says `done` where it was, and `left` where it was not. */
  | { readonly kind: "ask" }
  /** Is sent one image, and says `seen`. */
  | { readonly kind: "image" };

/** What an engine's test puts on the stage, for one test. */
export interface Staged {
  readonly engine: Engine;
  /** Makes the agent play this turn next; answers the text to prompt it with. */
  play(plan: Plan): Promise<string>;
  /** Settles when the turn in hand waits. */
  held(): Promise<void>;
  /** Lets a turn that waits end. */
  release(): Promise<void>;
  /** How many prompts the agent, or requests the provider behind it, has got so far. */
  received(): number;
  /** Images in the newest of them. */
  images(): number;
  /** Kills the engine's own process as nobody asked for it, where it has one. */
  kill?(): Promise<void>;
  /** Makes the agent say this by itself, outside of any turn, where it can. */
  speak?(text: string): Promise<void>;
  /** Another engine for the same agent, as a host that comes after would have it. */
  again(): Engine;
  close(): Promise<void>;
}

/** Opens the stage in a folder of its own, which is removed after it was closed. */
export type Stage = (folder: string) => Promise<Staged>;

const image: InlineImage = {
  mimeType: "image/png",
  data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
};

type Unkeyed = { [T in Command["type"]]: Omit<CommandOf<T>, "requestId"> }[Command["type"]];

/** A host with the staged engine, on a real SQLite file. */
export class House {
  readonly staged: Staged;
  readonly reported: unknown[] = [];
  session!: Session;
  readonly #folder: string;
  #store!: SqlFile;
  #owner!: Owner;
  #agent!: Agent;
  #requests = 0;
  /** While it is set nothing becomes durable. */
  #syncs: Promise<void> | undefined;

  static async open(stage: Stage): Promise<House> {
    const folder = await mkdtemp(join(tmpdir(), "lichen-engine-"));
    const house = new House(folder, await stage(folder));
    await house.#open(house.staged.engine);
    return house;
  }

  private constructor(folder: string, staged: Staged) {
    this.#folder = folder;
    this.staged = staged;
  }

  async #open(engine: Engine): Promise<void> {
    this.#store = await openSql(join(this.#folder, "house.db"));
    const { sql } = this.#store;
    const platform = nodePlatform({ report: (error) => this.reported.push(error) });
    this.#owner = openOwner({
      sql: {
        run: (statement, ...args) => sql.run(statement, ...args),
        all: (statement, ...args) => sql.all(statement, ...args),
        transact: (body) => sql.transact(body),
        inTransaction: () => sql.inTransaction(),
        durable: async () => {
          await this.#syncs;
          await sql.durable();
        },
      },
      platform,
    });
    this.#agent = await this.#owner.attach({ agent: "it", engine });
    this.session = this.#agent.session("s");
  }

  /** From now on nothing is durable, until the answer is called. */
  holdSyncs(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#syncs = promise;
    return () => {
      this.#syncs = undefined;
      resolve();
    };
  }

  async #shut(): Promise<void> {
    await this.#owner.close({ patienceMs: 0 });
    await this.#store.close();
  }

  /** Stops the host as for an update, and starts it again. */
  async reopen(): Promise<void> {
    await this.#shut();
    await this.#open(this.staged.again());
  }

  async close(): Promise<void> {
    await this.#shut();
    await this.staged.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async send(command: Unkeyed): Promise<string> {
    const requestId = `r${++this.#requests}`;
    return (await this.session.send({ ...command, requestId } as Command)).commandId ?? "";
  }

  async begin(plan: Plan, delivery?: "steer"): Promise<string> {
    const text = await this.staged.play(plan);
    return this.send({
      ...{ type: "prompt", text },
      ...(delivery ? { delivery } : {}),
      ...(plan.kind === "image" ? { images: [image] } : {}),
    });
  }

  async settled(commandId: string): Promise<Settlement> {
    const wait = () => this.session.readSettlement(commandId, { timeoutMs: 30_000 });
    // Twice: real agents are slow to start on a busy machine.
    const settlement = (await wait()) ?? (await wait());
    if (!settlement) throw new Error(`${commandId} is not settled.`);
    return settlement;
  }

  async run(plan: Plan): Promise<Settlement> {
    return this.settled(await this.begin(plan));
  }

  async entries(): Promise<Entry[]> {
    return (await this.session.read({ limit: 200 })).entries;
  }

  async data<K extends Kind>(kind: K): Promise<EntryData[K][]> {
    const of = (await this.entries()).filter((entry) => entry.kind === kind);
    return of.map((entry) => entry.data as EntryData[K]);
  }

  /** Settles once `text` streams; answers how many messages of assistants stood in the log by then. */
  async shown(text: string): Promise<number> {
    for await (const frame of this.session.watch()) {
      const partial =
        frame.type === "partial"
          ? frame.data
          : "running" in frame.data
            ? frame.data.running?.partial
            : undefined;
      if (partial?.text?.includes(text)) return (await this.data("message.assistant")).length;
    }
    throw new Error(`"${text}" was never shown.`);
  }

  async asked(): Promise<Approval> {
    for await (const frame of this.session.watch()) {
      if (frame.type === "partial" || frame.type === "state") continue;
      const [approval] = (await this.session.read()).approvals;
      if (approval) return approval;
    }
    throw new Error("Nobody was asked.");
  }
}
