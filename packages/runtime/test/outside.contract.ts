// Runs that a harness began by itself.

import { expect } from "vitest";
import type { EngineHost, Frame, Result, Run, Work } from "../src/index.ts";
import { scriptedEngine } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, gate, kindsOf, prompt, refusal, sent, settled } from "./stage.ts";

/** An engine whose runs end when the test says so, by session, and its host's own wish for a run. */
function waking() {
  const houses = new Map<string, EngineHost>();
  const runs: { readonly work: Work; readonly run: Run; end(result?: Result): void }[] = [];
  const base = scriptedEngine();
  const engine: typeof base = {
    ...base,
    open: ({ session }, house) => {
      houses.set(session, house);
      return {
        stays: true,
        run: (work, live) => {
          const end = gate<Result>();
          runs.push({ work, run: live, end: (it) => end.open(it ?? { terminal: "completed" }) });
          return end.opened;
        },
        close: async () => {},
      };
    },
  };
  const wake = (text = "", session = "s"): Promise<{ commandId: string }> =>
    houses.get(session)!.outside({ source: "harness", text });
  return { engine, runs, wake };
}

/** What runs that nobody admitted promise on any host. */
export function outsideContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[RH6] what a harness began by itself is a run of its own: shown, settled, counted, and silent where nothing was said",
    async (stage) => {
      const { engine, runs, wake } = waking();
      const life = await stage.open({ engine });
      const { info } = await life.agent.create({ requestId: "c", session: "s", events: true });
      const session = life.session();
      await session.connect();
      const frames: Frame[] = [];
      session.observe({ frame: (frame) => (frames.push(frame), true), end: () => {} });
      const { commandId } = await wake();
      await until(() => runs.length === 1, "it runs");
      expect(runs[0]!.work).toMatchObject({ commandId, type: "outside", source: "harness" });
      expect(await session.read()).toMatchObject({
        session: { state: "running", events: 0 },
        running: { commandId },
      });
      runs[0]!.run.partial({ text: "look" });
      await until(() => frames.some((it) => it.type === "partial"), "a partial");
      runs[0]!.end({
        terminal: "completed",
        entries: [
          {
            kind: "message.assistant",
            data: { content: [{ type: "text", text: "looked" }], stop: "stop" },
          },
        ],
      });
      expect(await settled(session, commandId)).toMatchObject({
        terminal: "completed",
        answer: "looked",
      });
      expect(await kindsOf(session)).toEqual([
        "command.queued",
        "run.started",
        "message.assistant",
        "run.settled",
      ]);
      expect(await session.info()).toMatchObject({ turns: info.turns + 1, state: "idle" });
    },
  );

  check(
    "[RH6] it comes before all that is queued and waits for no place in the host",
    async (stage) => {
      const { engine, runs, wake } = waking();
      const life = await stage.open({ engine, capacity: 1 });
      const session = life.session();
      const first = await sent(session, prompt("first"));
      await until(() => runs.length === 1, "it runs");
      runs[0]!.end();
      await settled(session, first);
      // Another session has the only place now, and prompts of this one wait for it.
      await sent(life.session("other"), prompt("other"));
      await until(() => runs.length === 2, "the other runs");
      const queued = await sent(session, prompt("queued"));
      const { commandId } = await wake("woke up");
      await until(() => runs.length === 3, "it runs beside the other");
      expect(runs[2]!.work).toMatchObject({ commandId, text: "woke up" });
      expect((await session.read()).pending.map((it) => it.commandId)).toEqual([queued]);
      runs[2]!.end();
      await settled(session, commandId);
      await turns(10);
      expect(runs).toHaveLength(3);
      runs[1]!.end();
      await until(() => runs.length === 4, "the queued one has the place");
      expect(runs[3]!.work.commandId).toBe(queued);
      runs[3]!.end();
      await settled(session, queued);
    },
  );

  check(
    "[RH6] while a run is live it is refused as busy; of one whose engine is done it is the next, before what is queued",
    async (stage) => {
      const { engine, runs, wake } = waking();
      const life = await stage.open({ engine });
      const session = life.session();
      const first = await sent(session, prompt("first"));
      const queued = await sent(session, prompt("queued"));
      await until(() => runs.length === 1, "it runs");
      expect(await refusal(wake())).toBe("busy");
      // The settlement is being written when the harness wakes up.
      life.trouble = (statement) =>
        statement === "transaction" ? new Error("the disk is full") : undefined;
      runs[0]!.end();
      await until(() => stage.reports.length > 1, "the settlement fails");
      stage.reports.length = 0;
      life.trouble = undefined;
      const { commandId } = await wake();
      await stage.clock.advance(1_000);
      await settled(session, first);
      await until(() => runs.length === 2, "the next one");
      expect(runs[1]!.work.commandId).toBe(commandId);
      expect(await refusal(wake())).toBe("busy");
      runs[1]!.end();
      await until(() => runs.length === 3, "the queued one");
      expect(runs[2]!.work.commandId).toBe(queued);
      runs[2]!.end();
      await settled(session, queued);
      const started = (await entriesOf(session)).filter((it) => it.kind === "run.started");
      expect(started.map((it) => it.commandId)).toEqual([first, commandId, queued]);
    },
  );

  check(
    "[RH6] one whose process died goes on like any other run; a stopping host begins none",
    async (stage) => {
      const first = waking();
      const life = await stage.open({ engine: first.engine });
      await life.agent.create({ requestId: "c", session: "s" });
      await life.session().connect();
      const { commandId } = await first.wake();
      await sent(life.session(), prompt("queued"));
      await until(() => first.runs.length === 1, "it runs");
      life.die();
      const second = waking();
      const next = await stage.open({ engine: second.engine });
      await until(() => second.runs.length === 1, "it goes on");
      expect(second.runs[0]!.work).toMatchObject({ commandId, type: "outside", resumed: true });
      second.runs[0]!.end();
      await settled(next.session(), commandId);
      await until(() => second.runs.length === 2, "the queued one");
      second.runs[1]!.end();
      await until(async () => (await next.session().info()).state === "idle", "idle");
      const closing = next.owner.close({ patienceMs: 0 });
      expect(await refusal(second.wake())).toBe("unavailable");
      await closing;
    },
  );

  check(
    "[A19] what an engine opens by itself is limited by nobody, also when the queue is full",
    async (stage) => {
      const { engine, runs, wake } = waking();
      const life = await stage.open({ engine, capacity: 1 });
      const session = life.session();
      await life.agent.create({ requestId: "c", session: "s" });
      await session.connect();
      await sent(life.session("other"), prompt("other"));
      await until(() => runs.length === 1, "the other runs");
      await Promise.all(Array.from({ length: 256 }, (_, n) => sent(session, prompt(`r${n}`))));
      expect(await refusal(session.send(prompt("more")))).toBe("capacity");
      const { commandId } = await wake("woke up");
      await until(() => runs.length === 2, "it runs");
      runs[1]!.end();
      expect((await settled(session, commandId)).terminal).toBe("completed");
    },
  );
}
