import fc from "fast-check";
import { expect, test } from "vitest";
import type { Session } from "../src/index.ts";
import type { Move } from "../src/testing/index.ts";
import { turns } from "./clock.ts";
import type { Life } from "./life.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, line, prompt, refusal, settled, Stage } from "./stage.ts";

type Step =
  | {
      readonly does: "prompt";
      readonly session: number;
      readonly request: number;
      readonly text: string;
      readonly delivery: "follow_up" | "steer";
    }
  | {
      readonly does: "line" | "withdraw" | "abort";
      readonly session: number;
      readonly request: number;
    }
  | {
      readonly does: "cancel";
      readonly session: number;
      readonly request: number;
      readonly which: number;
      readonly onlyIfPending: boolean;
    }
  | { readonly does: "crash"; readonly commits: number }
  | { readonly does: "wait"; readonly turns: number };

const session = fc.nat(2);
const request = fc.nat(9);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant("prompt" as const),
      session,
      request,
      text: fc.constantFrom("say", "slow", "steers", "effect"),
      delivery: fc.constantFrom("follow_up" as const, "steer" as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constantFrom("line" as const, "withdraw" as const, "abort" as const),
      session,
      request,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant("cancel" as const),
      session,
      request,
      which: fc.nat(9),
      onlyIfPending: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("crash" as const), commits: fc.nat(4) }) },
  { weight: 4, arbitrary: fc.record({ does: fc.constant("wait" as const), turns: fc.nat(10) }) },
);

/** What a request id was first used for: its input, and what was answered where the answer arrived. */
interface Used {
  readonly input: string;
  answer?: string;
}

/** A request as it was sent, so that it can be sent again. */
interface Sent {
  readonly session: string;
  readonly request: string;
  readonly input: string;
  readonly send: (session: Session) => Promise<string>;
  outcome: string | undefined;
}

/** The model: a map of request ids for each session, in the order in which they were sent. */
class Model {
  readonly used = new Map<string, Used>();

  /** What must be answered to a request; undefined where it is new. */
  expected({
    session: of,
    request: id,
    input,
  }: Sent): "replay" | "conflict" | "withdrawn" | undefined {
    const used = this.used.get(`${of}/${id}`);
    if (!used) return undefined;
    if (used.input === "withdraw") return input === "withdraw" ? "replay" : "withdrawn";
    if (input === "withdraw") return "replay";
    return used.input === input ? "replay" : "conflict";
  }
}

class Play {
  readonly #stage: Stage;
  readonly #model = new Model();
  readonly #effects = new Map<string, number>();
  readonly #commands = new Map<string, string>();
  readonly #cancelled = new Set<string>();
  /** Sessions that a prompt or a line has made. */
  readonly #made = new Set<string>();
  #life: Life | undefined;
  #inFlight: { readonly sent: Sent; readonly expected: ReturnType<Model["expected"]> }[] = [];
  #crashes = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async open(): Promise<void> {
    this.#life = await this.#stage.open({
      capacity: 2,
      engine: (work): readonly Move[] => {
        if (work.text === "slow") return [{ gate: () => turns(6) }, { say: "slow" }];
        if (work.text === "steers")
          return [{ gate: () => turns(3) }, { steers: true }, { say: "steered" }];
        if (work.text !== "effect") return [{ say: "said" }];
        const effect = (): string => {
          this.#effects.set(work.commandId, (this.#effects.get(work.commandId) ?? 0) + 1);
          return "done";
        };
        return [{ calls: [{ name: "write", label: "write", effect }] }, { say: "did" }];
      },
    });
  }

  async take(it: Step): Promise<void> {
    if (it.does === "wait") return turns(it.turns);
    if (it.does === "crash") return this.#crash(it.commits);
    const name = `s${it.session}`;
    const requestId = `r${it.request}`;
    if (it.does === "cancel") {
      const ids = [...this.#commands].filter(([, of]) => of === name).map(([id]) => id);
      const commandId = ids[it.which % Math.max(1, ids.length)];
      if (commandId === undefined) return;
      this.#send(name, `c${requestId}`, `cancel ${commandId} ${it.onlyIfPending}`, async (of) => {
        const receipt = await of.send({
          type: "cancel",
          requestId: `c${requestId}`,
          commandId,
          onlyIfPending: it.onlyIfPending,
        });
        if (receipt.status === "accepted") this.#cancelled.add(commandId);
        return `${receipt.status} ${receipt.commandId}`;
      });
      return;
    }
    switch (it.does) {
      case "prompt":
        this.#send(name, requestId, `prompt ${it.text} ${it.delivery}`, async (of) => {
          const { commandId } = await of.send(
            prompt(requestId, { text: it.text, delivery: it.delivery }),
          );
          this.#commands.set(commandId!, name);
          return commandId!;
        });
        return;
      case "line":
        this.#send(
          name,
          requestId,
          "line",
          async (of) => (await of.send(line(requestId))).entryId!,
        );
        return;
      case "withdraw":
        this.#send(name, requestId, "withdraw", async (of) => {
          const answer = await of.withdraw(requestId);
          return answer.status === "accepted" ? answer.commandId : "unknown";
        });
        return;
      case "abort":
        if (!this.#made.has(name)) return;
        this.#send(name, `x${requestId}`, "abort", async (of) => {
          const { cancelled } = await of.send({ type: "abort", requestId: `x${requestId}` });
          for (const id of cancelled!) this.#cancelled.add(id);
          return cancelled!.join();
        });
    }
  }

  #send(name: string, requestId: string, input: string, send: Sent["send"]): void {
    const sent: Sent = { session: name, request: requestId, input, send, outcome: undefined };
    const expected = this.#model.expected(sent);
    const key = `${name}/${requestId}`;
    if (!this.#model.used.has(key)) this.#model.used.set(key, { input });
    if (expected === undefined && /^(prompt|line)/.test(input)) this.#made.add(name);
    this.#inFlight.push({ sent, expected });
    void this.#outcome(sent, this.#life!.session(name)).then((outcome) => (sent.outcome = outcome));
  }

  async #outcome(sent: Sent, of: Session): Promise<string> {
    try {
      return await sent.send(of);
    } catch (error) {
      return `refused ${await refusal(Promise.reject(error))}`;
    }
  }

  /** Waits for what is in flight and holds it against the model. */
  async settle(): Promise<void> {
    for (let n = 0; n < 200 && this.#inFlight.some(({ sent }) => sent.outcome === undefined); n++)
      await turns(1);
    for (const { sent, expected } of this.#inFlight) this.#compare(sent, expected);
    this.#inFlight = [];
  }

  #compare(sent: Sent, expected: ReturnType<Model["expected"]>): void {
    const { outcome } = sent;
    if (outcome === undefined) throw new Error(`${sent.input} was never answered`);
    const used = this.#model.used.get(`${sent.session}/${sent.request}`)!;
    if (expected === "conflict" || expected === "withdrawn") {
      expect(outcome).toBe(`refused ${expected}`);
      return;
    }
    expect(outcome).not.toContain("refused");
    used.answer ??= outcome;
    expect(outcome).toBe(used.answer);
  }

  async #crash(commits: number): Promise<void> {
    this.#crashes++;
    const life = this.#life!;
    if (commits === 0) life.die();
    else life.dieAfterCommits(commits);
    for (let n = 0; n < 40 && !life.isDead; n++) await turns(1);
    life.die();
    const unanswered = this.#inFlight;
    this.#inFlight = [];
    await this.open();
    // What was acknowledged holds; what was not is sent again, in its order, as a client would.
    for (const { sent, expected } of unanswered) {
      if (sent.outcome === undefined)
        sent.outcome = await this.#outcome(sent, this.#life!.session(sent.session));
      this.#compare(sent, expected);
    }
  }

  /** Everything ends; then the whole log is held against all that was answered. */
  async end(): Promise<void> {
    await this.settle();
    await this.#crash(0);
    for (const [id, of] of this.#commands) await settled(this.#life!.session(of), id);
    for (const [id, of] of this.#commands) {
      const settlement = await settled(this.#life!.session(of), id);
      const joined = (await entriesOf(this.#life!.session(of))).find(
        (it) => it.kind === "message.user" && it.commandId === id && it.data.steers !== undefined,
      );
      // A steer ends with the run that it joined.
      const run = joined ? String(joined.data.steers as string) : id;
      const ends = this.#crashes > 3 ? /completed|interrupted|outcome_unknown/ : /completed/;
      expect(settlement.terminal).toMatch(this.#cancelled.has(run) ? /cancelled/ : ends);
    }
    for (const count of this.#effects.values()) expect(count).toBe(1);
    for (const of of new Set(this.#commands.values())) await this.#examine(of);
    for (const [key, { input, answer }] of this.#model.used) {
      const [of, id] = key.split("/") as [string, string];
      if (input === "withdraw")
        expect(await refusal(this.#life!.session(of).send(prompt(id)))).toBe("withdrawn");
      else if (/^(prompt|line)/.test(input))
        expect(await this.#life!.session(of).withdraw(id)).toEqual({
          status: "accepted",
          commandId: answer,
        });
    }
    await this.#life!.owner.close();
  }

  async #examine(of: string): Promise<void> {
    const entries = await entriesOf(this.#life!.session(of));
    expect(entries.map((it) => it.seq)).toEqual(entries.map((_, at) => at + 1));
    const ids = (kind: string): (string | undefined)[] =>
      entries.filter((it) => it.kind === kind).map((it) => it.commandId);
    const queued = ids("command.queued");
    expect(new Set(queued)).toEqual(
      new Set([...this.#commands].filter(([, it]) => it === of).map(([id]) => id)),
    );
    expect(new Set(ids("run.settled")).size).toBe(ids("run.settled").length);
    expect(new Set(ids("run.settled"))).toEqual(new Set(queued));
    const started = ids("run.started");
    expect(started).toEqual(queued.filter((id) => started.includes(id)));
    const users = ids("message.user");
    expect(new Set(users).size).toBe(users.length);
    const requests = entries.filter((it) => it.kind === "line").map((it) => it.requestId);
    expect(new Set(requests).size).toBe(requests.length);
  }
}

/** Admission against a simple model, with crashes among the commands, on any host. */
export function modelContract(host: string, withSql: WithSql, runs: number): void {
  test(`[A1] no receipt without its command, one settlement each, whatever is sent and however often the process dies (${host})`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 50 }), async (steps) => {
        await withSql(async (sql) => {
          const stage = new Stage(sql);
          const play = new Play(stage);
          try {
            await play.open();
            for (const it of steps) await play.take(it);
            await play.end();
            expect(stage.reports).toEqual([]);
          } finally {
            stage.end();
          }
        });
      }),
      { numRuns: runs },
    );
  }, 120_000);
}
