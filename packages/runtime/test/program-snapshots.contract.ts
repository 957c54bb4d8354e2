import type { Json, JsonObject } from "@lichen/wire";
import { expect } from "vitest";
import type { ProgramSnapshot } from "../src/index.ts";
import { turns, until } from "./clock.ts";
import type { Life } from "./life.ts";
import { onStage } from "./on-stage.ts";
import { programThat, make, never, asked, bytes } from "./program-kit.ts";
import type { WithSql } from "./sql.contract.ts";
import { prompt, refusal, run, sent, settled } from "./stage.ts";

/** What the snapshots of programs promise on any host. */
export function programSnapshotsContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[J7] a snapshot is kept whole in place of the one before, and found after a crash",
    async (stage) => {
      const found: (ProgramSnapshot | undefined)[] = [];
      const sizes = [0, 10, 524_288, 3_000_001];
      let life!: Life;
      const engine = programThat(async (program) => {
        found.push(program.snapshot());
        const size = sizes[found.length - 1];
        if (size === undefined) return;
        await program.save({ engine: "old", delivered: 0, bytes: bytes(8_388_608, 7) });
        await program.save({ engine: `e${size}`, delivered: found.length, bytes: bytes(size) });
        life.die();
        await never();
      });
      life = await stage.open({ engine });
      const id = await sent(life.session(), prompt("r1"));
      for (const _ of sizes) {
        await until(() => life.isDead, "the end of a life");
        const [big] = stage.sql.all<{ bytes: number }>(
          "select max(length(bytes)) as bytes from program_snapshot",
        );
        expect(big!.bytes ?? 0).toBeLessThan(1_048_576);
        stage.sql.run("update command set recoveries = 0");
        life = await stage.open({ engine });
      }
      await settled(life.session(), id);
      expect(found[0]).toBeUndefined();
      for (const [n, size] of sizes.entries()) {
        expect(found[n + 1]).toMatchObject({ engine: `e${size}`, delivered: n + 1 });
        expect(found[n + 1]!.bytes.length).toBe(size);
        expect(found[n + 1]!.bytes.every((byte, at) => byte === (at * 31 + 1) % 251)).toBe(true);
      }
      expect(stage.sql.all("select 1 from program_snapshot")).toEqual([]);
      expect(stage.sql.all("select 1 from program where engine is not null")).toEqual([]);
    },
  );

  check(
    "[J7] a snapshot over 8 MiB is refused as too large, and the one before stays",
    async (stage) => {
      const life = await stage.open({
        engine: programThat(async (program) => {
          await program.save({ engine: "e", delivered: 0, bytes: bytes(3) });
          expect(
            await refusal(
              program.save({ engine: "e", delivered: 0, bytes: new Uint8Array(8_388_609) }),
            ),
          ).toBe("too_large");
          return program.snapshot()!.bytes.length;
        }),
      });
      expect((await run(life.session(), "r1")).answer).toBe("3");
    },
  );

  check(
    "[J7] a snapshot is kept while the host drains, by a program that waits for a person, and goes with its end",
    async (stage) => {
      const effects: JsonObject[] = [];
      const engine = programThat(async (program, signal) => {
        const kept = program.snapshot();
        const call = make(program, 0, {
          ...{ operation: "bank.pay", label: "write", confirm: {} },
          effect: (input) => (effects.push(input), "paid"),
        });
        try {
          const outcome = await call;
          return { kept: kept?.delivered ?? null, outcome: outcome as unknown as Json };
        } catch (error) {
          expect(signal.aborted).toBe(true);
          await program.save({ engine: "e", delivered: 0, bytes: bytes(100_000) });
          throw error;
        }
      });
      const life = await stage.open({ engine });
      const id = await sent(life.session(), prompt("r1"));
      const [approval] = await asked(life.session());
      await turns(10);
      await life.owner.close({ patienceMs: 0 });
      expect(stage.sql.all("select 1 from program_snapshot")).not.toEqual([]);
      const next = await stage.open({ engine });
      const { approvalId } = approval!;
      await next.session().send({ type: "answer", requestId: "a", approvalId, allow: true });
      expect(JSON.parse((await settled(next.session(), id)).answer)).toEqual({
        kept: 0,
        outcome: { ok: true, value: "paid" },
      });
      expect(stage.sql.all("select 1 from program_snapshot")).toEqual([]);
    },
  );

  check(
    "[J7] a snapshot goes with a run that is settled without its program, and with its session",
    async (stage) => {
      const engine = programThat(async (program) => {
        await program.save({ engine: "e", delivered: 0, bytes: bytes(1_200_000) });
        await never();
      });
      const life = await stage.open({ engine });
      const keeps = (sessions: number): Promise<void> =>
        until(
          () => stage.sql.all("select 1 from program where engine is not null").length === sessions,
          `${sessions} snapshots`,
        );
      const id = await sent(life.session("cancelled"), prompt("r1"));
      await sent(life.session("deleted"), prompt("r1"));
      await keeps(2);
      await life.session("cancelled").send({ type: "cancel", requestId: "c", commandId: id });
      await stage.clock.advance(10_001);
      await settled(life.session("cancelled"), id);
      await keeps(1);
      await life.session("deleted").delete();
      for (let n = 0; n < 40; n++) await stage.clock.advance(1_000);
      for (const table of ["program_snapshot", "program_call"])
        expect(stage.sql.all(`select 1 from ${table}`)).toEqual([]);
      expect(stage.sql.all("select 1 from program")).toHaveLength(1);
    },
  );
}
