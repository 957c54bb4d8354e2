import { expect } from "vitest";
import { scriptedEngine } from "../src/testing/index.ts";
import { until } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import { reading } from "./reader.ts";
import type { WithSql } from "./sql.contract.ts";
import { gate, line, prompt, run, sent, settled } from "./stage.ts";

/** What is promised of text that streams, on any host. */
export function partialsContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[O4] partials are coalesced, reach late readers, and none comes after the message it grew into",
    async (stage) => {
      const held = gate();
      const life = await stage.open({
        engine: [
          { partials: Array.from({ length: 500 }, (_, n) => "x".repeat(n + 1)) },
          { gate: held.opened },
          { say: "whole" },
        ],
      });
      const session = life.session();
      await session.send(line("l"));
      const reader = reading(session);
      const stalled = reading(session);
      stalled.takes = 1;
      const id = await sent(session, prompt("r1"));
      await until(() => reader.types.includes("partial"), "a partial");
      await stage.clock.advance(25);
      const texts = reader.frames.flatMap((it) =>
        it.type === "partial" ? [it.data.text!.length] : [],
      );
      expect(texts.length).toBeLessThanOrEqual(3);
      expect(texts.at(-1)).toBe(500);
      expect((await session.read()).running!.partial!.text).toHaveLength(500);
      const late = reading(session);
      const [first] = late.frames;
      expect(first!.type === "baseline" && first!.data.running!.partial!.text!.length).toBe(500);
      held.open();
      await settled(session, id);
      await stage.clock.advance(100);
      stalled.resume();
      late.resume();
      for (const it of [reader, stalled, late]) {
        const end = it.frames.findIndex(
          (frame) => frame.type === "entry" && frame.data.kind === "message.assistant",
        );
        expect(end).toBeGreaterThan(0);
        expect(it.types.slice(end)).not.toContain("partial");
      }
    },
  );

  check(
    "[O4] what streams is shown at once after a pause, with what came with it, and then the more rarely the more it costs",
    async (stage) => {
      for (const { readers, length, paceMs } of [
        { readers: 1, length: 1, paceMs: 3 },
        { readers: 1, length: 100_000, paceMs: 13 },
        { readers: 200, length: 1, paceMs: 25 },
      ]) {
        const steps = Array.from({ length: 4 }, () => gate());
        const begun = gate();
        const rest = gate();
        const texts = ["a", "b", "c", "d", "e"].map((it) => it.padEnd(length, "."));
        const life = await stage.open({
          engine: [
            { gate: begun.opened },
            { partials: texts.slice(0, 2) },
            ...steps.flatMap(({ opened }, n) => [
              { gate: opened },
              { partials: [texts[n + 2] ?? "f"] },
            ]),
            { gate: rest.opened },
            { say: "whole" },
          ],
        });
        const session = life.session(`s${readers}-${length}`);
        await session.send(line("l"));
        const all = Array.from({ length: readers }, () => reading(session));
        const shown = () =>
          all.at(-1)!.frames.flatMap((it) => (it.type === "partial" ? [it.data.text![0]] : []));
        const id = await sent(session, prompt("r1"));
        await until(() => all.at(-1)!.seqs.includes(4), "the run");
        begun.open();
        await until(() => shown().length === 2, "what came at once");
        expect(shown()).toEqual(["a", "b"]);
        steps[0]!.open();
        await stage.clock.advance(paceMs - 1);
        expect(shown()).toEqual(["a", "b"]);
        steps[1]!.open();
        await stage.clock.advance(0);
        await stage.clock.advance(1);
        expect(shown()).toEqual(["a", "b", "d"]);
        steps[2]!.open();
        await stage.clock.advance(0);
        expect(shown()).toEqual(["a", "b", "d"]);
        await stage.clock.advance(paceMs);
        expect(shown()).toEqual(["a", "b", "d", "e"]);
        // Nothing comes for a while: what then comes is not waited for.
        await stage.clock.advance(paceMs);
        steps[3]!.open();
        await until(() => shown().length === 5, "what came after the pause");
        rest.open();
        await settled(session, id);
        await life.owner.close();
      }
    },
  );

  check("[O4] a message that was appended in mid-run leaves no partial behind", async (stage) => {
    const held = gate();
    const life = await stage.open({
      engine: [
        { partials: ["ha", "half"] },
        { say: "whole" },
        { gate: held.opened },
        { say: "end" },
      ],
    });
    const session = life.session();
    await session.send(line("l"));
    const seen: (string | undefined)[] = [];
    const id = await sent(session, prompt("r1"));
    await until(
      async () => (await session.read()).entries.some((it) => it.kind === "message.assistant"),
      "the message",
    );
    const baseline = await session.read();
    seen.push(baseline.running?.partial?.text);
    expect(seen).toEqual([undefined]);
    held.open();
    await settled(session, id);
  });

  check(
    "[O4] a baseline that is asked for while a message is being synced shows nothing of it as streaming",
    async (stage) => {
      const held = gate();
      const rest = gate();
      const life = await stage.open({
        engine: [
          { partials: ["half"] },
          { gate: held.opened },
          { say: "whole" },
          { gate: rest.opened },
          { say: "end" },
        ],
      });
      const session = life.session();
      const id = await sent(session, prompt("r1"));
      const before = life.commits;
      const sync = life.holdSyncs();
      held.open();
      await until(() => life.commits > before, "the message's commit");
      const asked = session.read();
      const late = reading(session);
      sync();
      const baseline = await asked;
      await until(() => late.frames.length > 0, "a baseline");
      const [first] = late.frames;
      for (const told of [baseline, first?.type === "baseline" ? first.data : undefined]) {
        expect(told?.entries.at(-1)?.kind).toBe("message.assistant");
        expect(told?.running).toBeDefined();
        expect(told?.running?.partial).toBeUndefined();
      }
      rest.open();
      await settled(session, id);
      expect(late.types).not.toContain("partial");
    },
  );

  check("[O4] a run shows what streams only while it runs", async (stage) => {
    let late: (() => void) | undefined;
    const life = await stage.open({
      engine: scriptedEngine([{ say: "ok" }], {
        onRun: (_, live) => {
          late = () => live.partial({ text: "ghost" });
        },
      }),
    });
    const session = life.session();
    await run(session, "r1");
    const reader = reading(session);
    late!();
    await stage.clock.advance(50);
    expect(reader.types).toEqual(["baseline"]);
    expect((await session.read()).running).toBeUndefined();
  });
}
