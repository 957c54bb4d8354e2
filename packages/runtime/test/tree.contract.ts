import { expect } from "vitest";
import type { TranscriptEntry } from "../src/index.ts";
import { scriptedEngine } from "../src/testing/index.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, gate, line, prompt, refusal, run, sent, settled } from "./stage.ts";

/** What the tree of messages and the transcript promise on any host. */
export function treeContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check("[L3] messages form a tree: each is a child of the leaf and becomes it", async (stage) => {
    const life = await stage.open();
    const session = life.session();
    await session.send(line("l1"));
    await run(session, "r1");
    await run(session, "r2");
    const tree = (await entriesOf(session)).filter((it) => /^(message|line)/.test(it.kind));
    expect(tree.map((it) => it.parent)).toEqual([
      undefined,
      ...tree.slice(0, -1).map((it) => it.id),
    ]);
    expect((await session.info()).leaf).toBe(tree.at(-1)!.id);
  });

  check(
    "[L4] the leaf moves to any message of the tree, and what follows grows there",
    async (stage) => {
      const transcripts: (string | undefined)[][] = [];
      const life = await stage.open({
        engine: scriptedEngine([{ say: "ok" }], {
          onRun: (_, live) =>
            void transcripts.push(live.transcript().map((it) => it.requestId ?? it.kind)),
        }),
      });
      const session = life.session();
      await run(session, "r1");
      const { leaf } = await session.info();
      await run(session, "r2");
      expect((await session.change({ leaf: leaf! })).leaf).toBe(leaf);
      await run(session, "r3");
      expect(transcripts.at(-1)).toEqual(["r1", "message.assistant", "r3"]);
      const entries = await entriesOf(session);
      expect(
        await refusal(
          session.change({ leaf: entries.find((it) => it.kind === "run.started")!.id }),
        ),
      ).toBe("invalid");
      for (const unknown of ["ent_none_1", "nonsense", `${leaf!}0000`])
        expect(await refusal(session.change({ leaf: unknown }))).toBe("unknown_entry");
      await run(life.session("other"), "r1");
      expect(
        await refusal(session.change({ leaf: (await life.session("other").info()).leaf! })),
      ).toBe("unknown_entry");
    },
  );

  check("[L4] a busy session keeps its leaf", async (stage) => {
    const held = gate();
    const life = await stage.open({ engine: [{ gate: held.opened }, { say: "ok" }] });
    const session = life.session();
    await session.send(line("l"));
    const { leaf } = await session.info();
    const id = await sent(session, prompt("r1"));
    expect(await refusal(session.change({ leaf: leaf! }))).toBe("busy");
    expect(await refusal(session.restart())).toBe("busy");
    expect((await session.change({ title: "may change" })).title).toBe("may change");
    held.open();
    await settled(session, id);
    expect((await session.change({ leaf: leaf! })).leaf).toBe(leaf);
  });

  check(
    "[L5] a new conversation begins at the root under the same numbers, with no tools switched on",
    async (stage) => {
      const seen: unknown[] = [];
      const life = await stage.open({
        engine: scriptedEngine(
          [{ append: [{ kind: "session.changed", data: { tools: ["weather"] } }] }, { say: "ok" }],
          {
            onRun: (_, live) => void seen.push([live.transcript().length, live.settings().tools]),
          },
        ),
      });
      const session = life.session();
      await run(session, "r1");
      await run(session, "r2");
      const { head } = await session.info();
      const info = await session.restart();
      expect(info.head).toBe(head + 1);
      expect(info.leaf).toBeUndefined();
      await run(session, "r3");
      expect(seen).toEqual([
        [1, []],
        [3, ["weather"]],
        [1, []],
      ]);
    },
  );

  check(
    "[L6] the transcript begins with the newest compaction, then what that kept, then what came after",
    async (stage) => {
      let transcript: TranscriptEntry[] = [];
      const life = await stage.open({
        engine: scriptedEngine(
          (work) =>
            work.type === "compact"
              ? [
                  {
                    append: [
                      {
                        kind: "compaction",
                        data: {
                          summary: "in short",
                          firstKept: kept,
                          tokensBefore: 9,
                          automatic: false,
                        },
                      },
                    ],
                  },
                ]
              : [{ say: "ok" }],
          { onRun: (_, live) => void (transcript = live.transcript()) },
        ),
      });
      const session = life.session();
      for (const r of ["r1", "r2", "r3"]) await run(session, r);
      const kept = (await entriesOf(session)).find(
        (it) => it.kind === "message.user" && it.requestId === "r3",
      )!.id;
      await settled(session, await sent(session, { type: "compact", requestId: "c" }));
      await run(session, "r4");
      expect(transcript.map((it) => it.requestId ?? it.kind)).toEqual([
        "compaction",
        "r3",
        "message.assistant",
        "r4",
      ]);
      expect((await entriesOf(session)).filter((it) => it.kind === "message.user")).toHaveLength(4);
    },
  );

  check(
    "[L6] a transcript that is longer than a page of rows is whole, also across sessions",
    async (stage) => {
      let transcript: TranscriptEntry[] = [];
      let newest: TranscriptEntry[] = [];
      const life = await stage.open({
        engine: scriptedEngine([{ say: "ok" }], {
          onRun: (_, live) => {
            transcript = live.transcript();
            newest = live.transcript(3);
          },
        }),
      });
      const session = life.session();
      for (let n = 0; n < 300; n++) await session.send(line(`l${n}`));
      await session.fork({ requestId: "f1", session: "child" });
      for (let n = 300; n < 450; n++) await life.session("child").send(line(`l${n}`));
      await life.session("child").fork({ requestId: "f2", session: "grandchild" });
      await session.send(line("elsewhere"));
      await run(life.session("grandchild"), "r1");
      expect(transcript.map((it) => it.requestId)).toEqual([
        ...Array.from({ length: 450 }, (_, n) => `l${n}`),
        "r1",
      ]);
      expect(newest).toEqual(transcript.slice(-3));
    },
  );

  check("[L7] long texts are whole in the transcript", async (stage) => {
    let transcript: TranscriptEntry[] = [];
    const text = "日本 long text\n".repeat(20_000);
    const life = await stage.open({
      engine: scriptedEngine([{ say: text }], {
        onRun: (_, live) => void (transcript = live.transcript()),
      }),
    });
    const session = life.session();
    await session.send(line("l1", text));
    await settled(session, await sent(session, prompt("r1", { text })));
    await run(session, "r2");
    expect(transcript.map((it) => it.data)).toMatchObject([
      { text },
      { text },
      { content: [{ text }] },
      {},
    ]);
    expect(JSON.stringify(await session.read()).length).toBeLessThan(50_000);
  });
}
