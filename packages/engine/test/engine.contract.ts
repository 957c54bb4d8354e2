// The engine contract: what a session keeps to, whatever engine executes its runs. Each engine's test stages the same
// turns with its own agent or with a scripted provider behind the real program.

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
import { afterEach, expect, test } from "vitest";
import { turns, until } from "../../runtime/test/clock.ts";

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
class House {
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

/** The suite. What an engine says that it cannot do is left out. */
export function engineContract(name: string, can: Engine["can"], stage: Stage, has: Has): void {
  const open: House[] = [];
  afterEach(async () => {
    for (const house of open.splice(0)) await house.close();
  });
  const start = async (): Promise<House> => {
    const house = await House.open(stage);
    expect(house.staged.engine.can).toEqual(can);
    open.push(house);
    return house;
  };

  test(`[EN1] ${name}: a run completes with its answer, one after another in one session`, async () => {
    const house = await start();
    expect(await house.run({ kind: "answer", text: "first" })).toMatchObject({
      terminal: "completed",
      answer: "first",
    });
    expect(await house.run({ kind: "answer", text: "second" })).toMatchObject({
      terminal: "completed",
      answer: "second",
    });
    expect(await house.data("message.user")).toHaveLength(2);
    expect(house.reported).toEqual([]);
  });

  test(`[EN2] ${name}: what streams is shown before its message is stored, and stored once`, async () => {
    const house = await start();
    const commandId = await house.begin({ kind: "hold", text: "on its way" });
    expect(await house.shown("on its way")).toBe(0);
    await house.staged.held();
    await house.staged.release();
    expect(await house.settled(commandId)).toMatchObject({ answer: "on its way" });
    const texts = JSON.stringify(await house.data("message.assistant")).split("on its way");
    expect(texts).toHaveLength(2);
  });

  test(`[EN3] ${name}: a cancelled run settles so, and the session goes on`, async () => {
    const house = await start();
    const commandId = await house.begin({ kind: "hold", text: "half" });
    await house.staged.held();
    await house.send({ type: "cancel", commandId });
    expect(await house.settled(commandId)).toMatchObject({ terminal: "cancelled", answer: "" });
    expect((await house.session.read()).running).toBeUndefined();
    expect(await house.run({ kind: "answer", text: "next" })).toMatchObject({ answer: "next" });
  });

  if (has.fails !== false)
    test(`[EN4] ${name}: a run that fails says why in a line, and the session goes on`, async () => {
      const house = await start();
      const { terminal, diagnostic } = await house.run({ kind: "fail" });
      expect(terminal).toBe("failed");
      expect(diagnostic).toMatch(/^\S.{5,1023}$/);
      expect(await house.run({ kind: "answer", text: "next" })).toMatchObject({ answer: "next" });
    });

  test(`[EN5] ${name}: a call has its message, its intent and its outcome, in this order`, async () => {
    const house = await start();
    expect(await house.run({ kind: "call" })).toMatchObject({ answer: "done", toolCalls: 1 });
    const order = ["message.assistant", "call.started", "message.tool"];
    const entries = (await house.entries()).filter(({ kind }) => order.includes(kind));
    expect(entries.map(({ kind }) => kind)).toEqual([...order, "message.assistant"]);
    const [message, , outcome] = entries;
    expect(message?.data).toMatchObject({
      content: expect.arrayContaining([expect.objectContaining({ type: "call", index: 0 })]),
    });
    expect(outcome?.data).toMatchObject({ assistant: message?.id, index: 0, isError: false });
  });

  if (can.approve && has.asks !== false) {
    test(`[EN6] ${name}: a call that was allowed has its answer before its intent, and is made`, async () => {
      const house = await start();
      const commandId = await house.begin({ kind: "ask" });
      const { approvalId, kind } = await house.asked();
      expect(kind).toBe("tool");
      await house.send({ type: "answer", approvalId, allow: true });
      expect(await house.settled(commandId)).toMatchObject({ answer: "done", toolCalls: 1 });
      const order = ["approval.asked", "approval.answered", "call.started", "message.tool"];
      const kinds = (await house.entries()).map((entry) => entry.kind);
      expect(kinds.filter((it) => order.includes(it))).toEqual(order);
    });

    test(`[EN6] ${name}: a call that was denied is not made, and the run goes on`, async () => {
      const house = await start();
      const commandId = await house.begin({ kind: "ask" });
      const { approvalId } = await house.asked();
      await house.send({ type: "answer", approvalId, allow: false, message: "not today" });
      expect(await house.settled(commandId)).toMatchObject({ answer: "left" });
      expect(await house.data("message.tool")).toMatchObject([{ isError: true }]);
    });

    test(`[EN6] ${name}: what is asked is withdrawn with its run, and an answer is too late then`, async () => {
      const house = await start();
      const commandId = await house.begin({ kind: "ask" });
      const { approvalId } = await house.asked();
      await house.send({ type: "cancel", commandId });
      expect(await house.settled(commandId)).toMatchObject({ terminal: "cancelled" });
      expect(await house.data("approval.withdrawn")).toMatchObject([{ approvalId }]);
      const late = await house.session.send({
        ...{ type: "answer", requestId: "late", approvalId, allow: true },
      });
      expect(late.status).toBe("too_late");
    });
  }

  if (can.steer)
    test(`[EN7] ${name}: a steer is part of the run in hand and settles with it`, async () => {
      const house = await start();
      const commandId = await house.begin({ kind: "hold", text: "first", calls: true });
      await house.staged.held();
      const steer = await house.begin({ kind: "answer", text: "steered" }, "steer");
      await house.staged.release();
      expect(await house.settled(commandId)).toMatchObject({
        terminal: "completed",
        answer: "steered",
      });
      expect(await house.settled(steer)).toMatchObject({
        terminal: "completed",
        answer: "steered",
      });
      const [, joined, ...more] = await house.data("message.user");
      expect(joined?.steers).toBe(commandId);
      expect(more).toEqual([]);
    });

  if (has.process)
    test(`[EN8] ${name}: a run whose process is killed settles, and the session goes on`, async () => {
      const house = await start();
      const commandId = await house.begin({ kind: "hold", text: "half" });
      await house.staged.held();
      await house.staged.release();
      await house.staged.kill?.();
      const { terminal, diagnostic } = await house.settled(commandId);
      expect(terminal).not.toBe("cancelled");
      if (terminal !== "completed") expect(diagnostic).toMatch(/\S/);
      expect(await house.run({ kind: "answer", text: "next" })).toMatchObject({ answer: "next" });
    });

  test(`[EN8] ${name}: a run that a stopping host leaves settles in the next one, and the session goes on`, async () => {
    const house = await start();
    const commandId = await house.begin({ kind: "hold", text: "half" });
    await house.staged.held();
    const reopened = house.reopen();
    await house.staged.release();
    await reopened;
    const { terminal, diagnostic } = await house.settled(commandId);
    expect(terminal).not.toBe("cancelled");
    if (terminal !== "completed") expect(diagnostic).toMatch(/\S/);
    expect(await house.run({ kind: "answer", text: "next" })).toMatchObject({ answer: "next" });
    expect(await house.data("message.user")).toHaveLength(2);
  });

  if (has.outside)
    test(`[EN9] ${name}: what the agent says by itself is a run of its own, named after who spoke`, async () => {
      const house = await start();
      await house.run({ kind: "answer", text: "first" });
      await house.staged.speak?.("by myself");
      await until(
        async () => (await house.data("run.settled")).length === 2,
        "the run that the agent opened",
      );
      const [, opened] = await house.data("command.queued");
      expect(opened).toMatchObject({ type: "outside", source: expect.stringMatching(/\S/) });
      expect((await house.data("run.settled"))[1]).toMatchObject({ answer: "by myself" });
    });

  test(`[EN10] ${name}: nothing is told, and no harness is sent anything, before it is durable`, async () => {
    const house = await start();
    await house.run({ kind: "answer", text: "first" });
    const before = house.staged.received();
    const told: unknown[] = [];
    const text = await house.staged.play({ kind: "answer", text: "second" });
    const { head, epoch } = await house.session.read();
    house.session.observe(
      { frame: (frame) => told.push(frame) > 0, end: () => {} },
      { after: `${epoch}.${head}` },
    );
    await turns(8);
    const toldBefore = told.length;
    const release = house.holdSyncs();
    const receipt = house.session.send({ type: "prompt", requestId: "held", text });
    await turns(100);
    expect(told.slice(toldBefore)).toEqual([]);
    if (!can.eager) expect(house.staged.received()).toBe(before);
    release();
    const { commandId } = await receipt;
    expect(await house.settled(commandId!)).toMatchObject({ answer: "second" });
  });

  if (can.images)
    test(`[EN11] ${name}: an image of a prompt reaches who answers it`, async () => {
      const house = await start();
      expect(await house.run({ kind: "image" })).toMatchObject({ answer: "seen" });
      expect(house.staged.images()).toBe(1);
    });
}

/** What a stage can show beside the engine's own abilities. */
export interface Has {
  /** It has a process of its own, and `kill`. */
  readonly process: boolean;
  /** Its agent can speak by itself: `speak`. */
  readonly outside: boolean;
  /** False: its agent has no call that a person must allow, though its engine could ask. */
  readonly asks?: false;
  /** False: its agent cannot fail a run by an error of its provider, but tells it as an answer. */
  readonly fails?: false;
}
