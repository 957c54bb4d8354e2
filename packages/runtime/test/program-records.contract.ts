import type { Entry, Json, JsonObject } from "@lichen/wire";
import { expect } from "vitest";
import { scriptedEngine } from "../src/testing/index.ts";
import { until } from "./clock.ts";
import type { GuestCall } from "./guest.ts";
import { onStage } from "./on-stage.ts";
import { guestThat, never } from "./program-kit.ts";
import type { WithSql } from "./sql.contract.ts";
import { kindsOf, prompt, run, sent, settled } from "./stage.ts";

/** What stands of programs in the log, on any host. */
export function programRecordsContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[J8] inputs and values of any size and shape come back as they were, in every process",
    async (stage) => {
      const sha256 = "0".repeat(64);
      const values: readonly Json[] = [
        null,
        "x".repeat(1_500_000),
        { blob: sha256, mimeType: "text/plain; charset=utf-8", bytes: 3 },
        [{ blob: sha256, mimeType: "application/json", bytes: 3 }, "é\u0000\ud800"],
        Array.from({ length: 30_000 }, (_, n) => ({ n, text: `item ${n}` })),
        JSON.parse('{"__proto__":{"x":1},"value":{"value":2}}') as Json,
      ];
      const inputs: JsonObject[] = [];
      let hangs = true;
      const engine = guestThat([
        ...values.map((value, n): GuestCall => ({
          operation: `a.n${n}`,
          input: { value },
          effect: (input) => (inputs.push(input), value),
        })),
        {
          operation: "a.fails",
          effect: () => Promise.reject(new Error("m".repeat(100_000))),
        },
        { operation: "a.last", effect: () => (hangs ? never() : "ok") },
      ]);
      const life = await stage.open({ engine });
      const id = await sent(life.session(), prompt("r1"));
      await until(
        async () =>
          (await kindsOf(life.session())).filter((it) => it === "program.outcome").length === 7,
        "the outcomes",
      );
      life.die();
      hangs = false;
      const next = await stage.open({ engine });
      const told = JSON.parse((await settled(next.session(), id)).answer) as {
        ordinal: number;
        outcome: { value?: Json; message?: string };
      }[];
      const valueAt = (ordinal: number) => told.find((it) => it.ordinal === ordinal)!.outcome;
      for (const [n, value] of values.entries()) expect(valueAt(n).value).toEqual(value);
      expect(valueAt(6).message).toHaveLength(100_000);
      expect(inputs).toEqual(values.map((value) => ({ value })));
      for (const { bytes: length } of stage.sql.all<{ bytes: number }>(
        "select length(data) as bytes from entry",
      ))
        expect(length).toBeLessThanOrEqual(524_288);
    },
  );

  check(
    "[J8] people watch the calls of a program in their order, the model and the search never see them",
    async (stage) => {
      const transcripts: string[][] = [];
      const life = await stage.open({
        engine: scriptedEngine([
          ...guestThat([
            {
              operation: "a.needle",
              input: { text: "haystack needle" },
              effect: () => "needle found",
              then: [{ operation: "a.second" }],
            },
          ]).slice(0, 1),
          {
            gate: ({ run: live }) =>
              Promise.resolve(void transcripts.push(live.transcript().map((it) => it.kind))),
          },
          { say: "done" },
        ]),
      });
      const session = life.session();
      const watched: Entry[] = [];
      await session.send({ type: "line", requestId: "l", text: "first" });
      const watch = session.watch();
      const watching = (async () => {
        for await (const frame of watch) {
          if (frame.type === "entry") watched.push(frame.data);
          if (frame.type === "entry" && frame.data.kind === "run.settled") break;
        }
      })();
      await run(session, "r1");
      await watching;
      expect(watched.filter((it) => it.kind.startsWith("program.")).map((it) => it.kind)).toEqual([
        "program.started",
        ...["program.call", "program.outcome", "program.call", "program.outcome"],
      ]);
      expect(transcripts).toEqual([["line", "message.user", "message.assistant", "message.tool"]]);
      await stage.clock.advance(1_000);
      expect((await session.search({ q: "haystack" })).found).toEqual([]);
      const fork = await session.fork({ requestId: "f", session: "f" });
      expect(fork.info.session).toBe("f");
    },
  );
}
