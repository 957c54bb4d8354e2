// What agents and sessions answer, wherever they are: run for an owner in this process and for one across HTTP.

import type { Command, Entry, Settlement } from "@lichen/wire";
import { type EngineScript, textOutcome } from "@lichen/runtime/testing";
import { describe, expect, test } from "vitest";
import {
  type Agent,
  type Client,
  type Frame,
  type HostFrame,
  type Session,
  settled,
  ViewFold,
} from "../src/index.ts";
import { png, prompt } from "./messages.ts";

/** Opens a client of a fresh owner with one agent, `a`, whose engine plays the script. */
export type OpenClient = (
  script: EngineScript,
) => Promise<AsyncDisposable & { readonly client: Client }>;

export function sessionContract(where: string, open: OpenClient): void {
  const check = (
    script: EngineScript,
    body: (agent: Agent, client: Client) => Promise<void>,
  ): (() => Promise<void>) => {
    return async () => {
      await using opened = await open(script);
      await body(opened.client.agent("a"), opened.client);
    };
  };

  describe(where, () => {
    test(
      "[N1] agents are listed with what they are about, and one that is not there is refused",
      check([{ say: "ok" }], async (agent, client) => {
        await agent.create({ requestId: "c", session: "s" });
        expect(await client.agents()).toEqual([
          { agent: "a", name: "a", engine: "scripted", state: "idle", sessions: 1 },
        ]);
        expect(await agent.info()).toEqual((await client.agents())[0]);
        expect(await codeOf(async () => client.agent("b").info())).toBe("unknown_agent");
        expect(await codeOf(async () => client.agent("b").session("s").info())).toBe(
          "unknown_agent",
        );
      }),
    );

    test(
      "[N1] sessions are created once, listed in pages, renamed, forked and deleted",
      check([{ say: "ok" }], async (agent) => {
        const made = await agent.create({ requestId: "c", session: "s", title: "one" });
        expect(made).toMatchObject({
          replay: false,
          info: { session: "s", title: "one", head: 0 },
        });
        expect((await agent.create({ requestId: "c", session: "s", title: "one" })).replay).toBe(
          true,
        );
        expect(await codeOf(() => agent.create({ requestId: "d", session: "s" }))).toBe("conflict");
        const unnamed = await agent.create({ requestId: "e" });
        const first = await agent.sessions({ limit: 1 });
        const second = await agent.sessions({ limit: 1, before: first.next! });
        expect([...first.sessions, ...second.sessions].map((it) => it.session).sort()).toEqual(
          [unnamed.info.session, "s"].sort(),
        );
        expect(second.next).toBeUndefined();
        expect(await codeOf(() => agent.sessions({ limit: 0 }))).toBe("invalid");

        const session = agent.session("s");
        expect((await session.change({ title: "two" })).title).toBe("two");
        expect((await session.info()).title).toBe("two");
        expect(await session.change({ model: "demo/x", reasoning: "low" })).toMatchObject({
          title: "two",
          model: "demo/x",
          reasoning: "low",
        });
        await run(session, "p");
        const { entries, epoch } = await session.read();
        const user = entries.find((entry) => entry.kind === "message.user")!;
        const fork = await session.fork({ requestId: "f", session: "t", at: user.id });
        expect(fork).toMatchObject({
          replay: false,
          info: { session: "t", forkedFrom: { session: "s", at: user.id } },
        });
        expect((await session.fork({ requestId: "f", session: "t", at: user.id })).replay).toBe(
          true,
        );
        expect(await codeOf(() => session.delete({ epoch: "other" }))).toBe("stale");
        await session.delete({ epoch });
        await session.delete();
        expect(await codeOf(() => session.info())).toBe("unknown_session");
      }),
    );

    test(
      "[N1] names that cannot be sessions are refused and lead nowhere else",
      check([{ say: "ok" }], async (agent) => {
        for (const id of ["", ".", "..", "a\u0000b", "x".repeat(257), "\ud800"]) {
          expect(await codeOf(() => agent.session(id).info()), JSON.stringify(id)).toBe("invalid");
          expect(await codeOf(() => agent.session(id).send(prompt("p"))), JSON.stringify(id)).toBe(
            "invalid",
          );
        }
        for (const id of ["a/b", "%2e%2e", "ä ☃ 💥", "?q#h", "sessions"]) {
          const session = agent.session(id);
          await run(session, "p");
          expect((await session.info()).session).toBe(id);
        }
        expect((await agent.sessions()).sessions).toHaveLength(5);
      }),
    );

    test(
      "[N2] the same request id gives the first receipt, other input conflicts, a withdrawn one is refused",
      check([{ say: "ok" }], async (agent) => {
        const session = agent.session("s");
        const receipt = await session.send(prompt("p"));
        expect(receipt.status).toBe("accepted");
        expect(receipt.replay).toBeUndefined();
        expect(await session.send(prompt("p"))).toEqual({ ...receipt, replay: true });
        expect(await codeOf(() => session.send(prompt("p", "other")))).toBe("conflict");
        const line = await session.send({ type: "line", requestId: "l", text: "note" });
        expect(line.entryId).toMatch(/^ent_/);
        expect(await session.withdraw("w")).toEqual({ status: "unknown" });
        expect(await codeOf(() => session.send(prompt("w")))).toBe("withdrawn");
        expect(await session.withdraw("p")).toEqual({
          status: "accepted",
          commandId: receipt.commandId,
        });
        expect(
          await codeOf(() => agent.session("none").send({ ...prompt("q"), requireExisting: true })),
        ).toBe("closed");
      }),
    );

    test("[N2] a running command is cancelled, a queued one recalled, and the rest aborted", async () => {
      const gate = Promise.withResolvers<void>();
      await check([{ gate: gate.promise }, { say: "ok" }], async (agent) => {
        const session = agent.session("s");
        const commands: string[] = [];
        for (const id of ["p1", "p2", "p3", "p4"])
          commands.push((await session.send(prompt(id))).commandId!);
        const [first, second] = commands;
        expect(
          await session.send({
            type: "cancel",
            requestId: "c2",
            commandId: second!,
            onlyIfPending: true,
          }),
        ).toMatchObject({ status: "accepted", commandId: second });
        expect(await codeOf(() => session.send({ ...prompt("r"), delivery: "reject" }))).toBe(
          "busy",
        );
        await session.send({ type: "cancel", requestId: "c1", commandId: first! });
        expect((await settled(session, first!)).terminal).toBe("cancelled");
        await session.send({ type: "abort", requestId: "a" });
        for (const command of commands)
          expect((await settled(session, command)).terminal).toBe("cancelled");
        expect(
          await session.send({ type: "cancel", requestId: "late", commandId: first! }),
        ).toMatchObject({ status: "too_late" });
        expect(
          await codeOf(() =>
            session.send({ type: "cancel", requestId: "n", commandId: "cmd_none" }),
          ),
        ).toBe("unknown_command");
        gate.resolve();
      })();
    });

    test(
      "[N2] a session is compacted on request",
      check(
        [
          {
            append: [
              {
                kind: "compaction",
                data: { summary: "so far", tokensBefore: 9, automatic: false },
              },
            ],
          },
        ],
        async (agent) => {
          const session = agent.session("s");
          await session.send({ type: "line", requestId: "l", text: "much" });
          const command: Command = { type: "compact", requestId: "k", instructions: "short" };
          const { commandId } = await session.send(command);
          expect((await settled(session, commandId!)).terminal).toBe("completed");
          const { entries } = await session.read();
          expect(entries.find((entry) => entry.kind === "compaction")?.data).toMatchObject({
            summary: "so far",
          });
        },
      ),
    );

    test(
      "[N2] an approval is seen, answered once, and its answer takes effect",
      check(
        [
          {
            calls: [
              {
                name: "erase",
                label: "write",
                input: { file: "x" },
                confirm: {},
                effect: () => textOutcome("erased"),
              },
            ],
          },
          { say: "done" },
        ],
        async (agent) => {
          const session = agent.session("s");
          const { commandId } = await session.send(prompt("p"));
          const [approval] = await until(
            session,
            (fold) => fold.view!.approvals.length > 0,
            (fold) => fold.view!.approvals,
          );
          expect(approval).toMatchObject({ kind: "tool", tool: "erase", state: "pending" });
          const answer: Command = {
            type: "answer",
            requestId: "y",
            approvalId: approval!.approvalId,
            allow: true,
          };
          expect(await session.send(answer)).toMatchObject({ status: "accepted" });
          expect(await session.send({ ...answer, requestId: "z", allow: false })).toMatchObject({
            status: "too_late",
          });
          expect(await settled(session, commandId!)).toMatchObject({
            terminal: "completed",
            answer: "done",
            toolCalls: 1,
          });
        },
      ),
    );

    test("[N3] a settlement is undefined while its command is pending, and the read that waits for it is answered", async () => {
      const gate = Promise.withResolvers<void>();
      await check([{ gate: gate.promise }, { say: "the answer" }], async (agent) => {
        const session = agent.session("s");
        const { commandId } = await session.send(prompt("p"));
        expect(await session.readSettlement(commandId!)).toBeUndefined();
        expect(await session.readSettlement(commandId!, { timeoutMs: 10 })).toBeUndefined();
        const left = new AbortController();
        const leaving = session.readSettlement(commandId!, {
          timeoutMs: 30_000,
          signal: left.signal,
        });
        const waiting = session.readSettlement(commandId!, { timeoutMs: 30_000 });
        left.abort();
        expect(await leaving).toBeUndefined();
        gate.resolve();
        const settlement = await waiting;
        expect(settlement).toMatchObject({ terminal: "completed", answer: "the answer" });
        expect(await settled(session, commandId!)).toEqual(settlement);
        expect(await codeOf(() => session.readSettlement("cmd_none"))).toBe("unknown_command");
      })();
    });

    test(
      "[N5] older pages, search and blobs are read",
      check([{ say: "a word in an answer" }], async (agent) => {
        const session = agent.session("s");
        const { commandId } = await session.send({
          ...prompt("p"),
          images: [{ mimeType: "image/png", data: png }],
        });
        await settled(session, commandId!);
        const whole = await session.read();
        const newest = await session.read({ limit: 2 });
        expect(newest.entries).toEqual(whole.entries.slice(-2));
        expect(newest.more).toBe(true);
        const older = await session.read({ before: newest.entries[0]!.seq });
        expect([...older.entries, ...newest.entries]).toEqual(whole.entries);
        expect(await codeOf(() => session.read({ limit: 1_000 }))).toBe("invalid");

        const { found } = await session.search({ q: "WORD in" });
        expect(found).toMatchObject([{ role: "assistant", snippet: "a word in an answer" }]);
        const user = whole.entries.find((entry) => entry.kind === "message.user")!;
        const [image] = user.data["images"] as { blob: string }[];
        const blob = await session.blob(image!.blob);
        expect(blob?.mimeType).toBe("image/png");
        expect(Buffer.from(blob!.bytes).toString("base64")).toBe(png);
        expect(await session.blob("0".repeat(64))).toBeUndefined();
      }),
    );

    test("[N9] a watch gives a baseline and every later entry once, goes on from a cursor, and leaves work alone", async () => {
      const gate = Promise.withResolvers<void>();
      await check(
        [{ partials: ["one", "one two"] }, { gate: gate.promise }, { say: "one two three" }],
        async (agent) => {
          const session = agent.session("s");
          await session.send({ type: "line", requestId: "l", text: "first" });
          const frames: Frame[] = [];
          let commandId = "";
          // A hint that is live may overtake the entry that is yet to be durable.
          let hasPartial = false;
          const isPartial = (frame: Frame) => frame.type === "partial";
          const isStart = (frame: Frame) =>
            frame.type === "entry" && frame.data.kind === "run.started";
          for await (const frame of session.watch()) {
            frames.push(frame);
            if (frame.type === "baseline") commandId = (await session.send(prompt("p"))).commandId!;
            if (isPartial(frame)) hasPartial = true;
            if (hasPartial && frames.some(isStart)) break;
          }
          expect(frames[0]).toMatchObject({ type: "baseline", data: { head: 1 } });
          const entries = frames.filter((frame) => frame.type === "entry");
          expect(entries.map((frame) => frame.data.seq)).toEqual(entries.map((_, at) => at + 2));
          const queued = entries.find((frame) => frame.data.kind === "command.queued");
          expect(queued?.data).toMatchObject({ requestId: "p", commandId });
          gate.resolve();
          expect((await settled(session, commandId)).answer).toBe("one two three");

          const rest: Entry[] = [];
          const { id } = entries.at(-1)!;
          const { head } = await session.info();
          for await (const frame of session.watch({ after: id })) {
            expect(frame.type).toBe("entry");
            if (frame.type === "entry") rest.push(frame.data);
            if (rest.at(-1)?.seq === head) break;
          }
          expect(rest.map((entry) => entry.seq)).toEqual(
            Array.from({ length: head - entries.length - 1 }, (_, at) => entries.length + 2 + at),
          );
          const stale = session.watch({ after: "other.1" })[Symbol.asyncIterator]();
          expect((await stale.next()).value).toMatchObject({ type: "reset", data: { head } });
          await stale.return?.();
        },
      )();
    });

    test(
      "[N13] a watch ends with its session and with its signal, and is refused for one that is not there",
      check([{ say: "ok" }], async (agent) => {
        const session = agent.session("s");
        await run(session, "p");
        const frames = session.watch()[Symbol.asyncIterator]();
        expect((await frames.next()).value).toMatchObject({ type: "baseline" });
        await session.delete();
        let last = await frames.next();
        while (!last.done) last = await frames.next();
        expect(last.done).toBe(true);
        expect(await codeOf(async () => session.watch()[Symbol.asyncIterator]().next())).toBe(
          "unknown_session",
        );

        await run(agent.session("t"), "p");
        const left = new AbortController();
        const kinds: string[] = [];
        for await (const frame of agent.session("t").watch({ signal: left.signal })) {
          kinds.push(frame.type);
          left.abort();
        }
        expect(kinds).toEqual(["baseline"]);
      }),
    );

    test(
      "[N7] the host's stream tells the directory, then every change and deletion",
      check([{ say: "ok" }], async (agent, client) => {
        await agent.create({ requestId: "c", session: "s" });
        const frames: HostFrame[] = [];
        for await (const frame of client.watchHost()) {
          frames.push(frame);
          if (frame.type === "baseline") {
            await run(agent.session("s"), "p");
            await agent.session("s").delete();
          }
          if (frame.type === "deleted") break;
        }
        expect(frames[0]).toMatchObject({
          type: "baseline",
          data: { agents: [{ agent: "a" }], sessions: [{ session: "s", state: "idle" }] },
        });
        expect(frames.at(-1)).toMatchObject({ data: { agent: "a", session: "s" } });
        const cursor = frames.find((frame) => "id" in frame)!;
        const again = client
          .watchHost({ after: "id" in cursor ? cursor.id : "" })
          [Symbol.asyncIterator]();
        expect((await again.next()).value).toMatchObject({ type: "deleted" });
        await again.return?.();
      }),
    );
  });
}

export async function run(session: Session, requestId: string): Promise<Settlement> {
  const { commandId } = await session.send(prompt(requestId));
  return settled(session, commandId!);
}

/** The code of the refusal that something ends in. */
export async function codeOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
  } catch (error) {
    return error instanceof Error && "code" in error
      ? String(error.code)
      : `a bug: ${String(error)}`;
  }
  return "no refusal";
}

/** Follows a session until its view says so. */
export async function until<T>(
  session: Session,
  isReached: (fold: ViewFold) => boolean,
  pick: (fold: ViewFold) => T,
): Promise<T> {
  const fold = new ViewFold();
  for await (const frame of session.watch()) {
    fold.take(frame);
    if (isReached(fold)) return pick(fold);
  }
  throw new Error("the watch ended before");
}
