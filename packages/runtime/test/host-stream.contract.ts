import { expect } from "vitest";
import type { HostFrame } from "../src/index.ts";
import { turns, until } from "./clock.ts";
import type { Life } from "./life.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { gate, line, prompt, run, sent, settled } from "./stage.ts";

interface Reading {
  readonly frames: HostFrame[];
  takes: number;
  ended: string | undefined;
  resume(): void;
  close(): void;
}

function following(life: Life, after?: string): Reading {
  const reading: Reading = {
    frames: [],
    takes: Number.POSITIVE_INFINITY,
    ended: undefined,
    resume: () => {
      reading.takes = Number.POSITIVE_INFINITY;
      subscription.resume();
    },
    close: () => subscription.close(),
  };
  const sink = {
    frame: (frame: HostFrame) => {
      reading.frames.push(frame);
      return --reading.takes > 0;
    },
    end: (reason: string) => void (reading.ended = reason),
  };
  const subscription = life.owner.observeHost(sink, after === undefined ? {} : { after });
  return reading;
}

/** What the sessions are by what a reader was told. */
function folded(frames: readonly HostFrame[]): Map<string, string> {
  const sessions = new Map<string, string>();
  for (const frame of frames) {
    if (frame.type === "baseline" || frame.type === "reset") {
      sessions.clear();
      for (const info of frame.data.sessions)
        sessions.set(info.session, `${info.state}/${info.head}`);
    } else if (frame.type === "session")
      sessions.set(frame.data.session, `${frame.data.state}/${frame.data.head}`);
    else if (frame.type === "deleted") sessions.delete(frame.data.session);
  }
  return sessions;
}

async function actual(life: Life): Promise<Map<string, string>> {
  const { sessions } = await life.agent.sessions();
  return new Map(sessions.map((info) => [info.session, `${info.state}/${info.head}`]));
}

/** What the host's stream promises on any host. */
export function hostStreamContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[O10] a reader of the host is told of every session that is made, changes or goes",
    async (stage) => {
      const life = await stage.open({ agents: ["a", "b"] });
      const reading = following(life);
      expect(reading.frames).toMatchObject([
        { type: "baseline", data: { agents: [{ agent: "a" }, { agent: "b" }], sessions: [] } },
      ]);
      await life.agent.create({ requestId: "c", session: "made", title: "t" });
      await run(life.session("ran"), "r");
      await life.session("made").change({ title: "u" });
      await life.session("ran").fork({ requestId: "f", session: "forked" });
      await life.session("made").delete();
      await life.session("noted").send(line("l"));
      expect(folded(reading.frames)).toEqual(await actual(life));
      expect([...folded(reading.frames).keys()].toSorted((a, b) => a.localeCompare(b))).toEqual([
        "forked",
        "noted",
        "ran",
      ]);
      expect(reading.frames.filter((it) => it.type === "deleted")).toMatchObject([
        { data: { agent: "a", session: "made" } },
      ]);
      const states = reading.frames.flatMap((it) =>
        it.type === "session" && it.data.session === "ran" ? [it.data.state] : [],
      );
      expect(states).toContain("running");
      expect(states.at(-1)).toBe("idle");
    },
  );

  check(
    "[O10] a reader that comes back with its cursor gets each session that changed since, once, or a reset",
    async (stage) => {
      const life = await stage.open();
      const reading = following(life);
      await run(life.session("one"), "r1");
      const { id } = reading.frames.at(-1)!;
      reading.close();
      for (let n = 0; n < 5; n++) await run(life.session("one"), `s${n}`);
      await run(life.session("two"), "r1");
      await run(life.session("gone"), "r1");
      await life.session("gone").delete();
      const back = following(life, id);
      expect(back.frames.map((it) => it.type).toSorted((a, b) => a.localeCompare(b))).toEqual([
        "deleted",
        "session",
        "session",
      ]);
      expect(folded([...reading.frames, ...back.frames])).toEqual(await actual(life));
      const [epoch, at] = id.split(".");
      for (const after of [`${epoch}.${Number(at) + 10_000}`, `other.${at}`, "nonsense", ""])
        expect(following(life, after).frames.map((it) => it.type)).toEqual(["reset"]);
      life.die();
      const next = await stage.open();
      expect(following(next, id).frames.map((it) => it.type)).toEqual(["reset"]);
    },
  );

  check(
    "[O10] a reader that stalls costs no memory and is told what it missed, or everything anew",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      const near = following(life);
      const far = following(life);
      near.takes = 1;
      far.takes = 1;
      for (let n = 0; n < 30; n++) await life.session(`s${n % 4}`).send(line(`l${n}`));
      expect(near.frames.length).toBeLessThanOrEqual(2);
      near.resume();
      expect(folded(near.frames)).toEqual(await actual(life));
      await Promise.all(
        Array.from({ length: 1_100 }, (_, n) => life.session(`many${n}`).send(line("l"))),
      );
      far.resume();
      await turns(2);
      expect(far.frames.map((it) => it.type)).toContain("reset");
      expect(folded(far.frames).size).toBe(200);
      await life.session("after").send(line("l"));
      expect(far.frames.at(-1)).toMatchObject({ type: "session", data: { session: "after" } });
    },
  );

  check(
    "[O10] the baseline shows what waits, runs and is queued before the newest others, 200 at most",
    async (stage) => {
      const held = gate();
      const life = await stage.open({
        engine: (work) =>
          work.text === "text of ask"
            ? [{ ask: { kind: "question" } }]
            : [{ gate: () => held.opened }],
      });
      await sent(life.session("asks"), prompt("ask"));
      await sent(life.session("runs"), prompt("run"));
      await until(async () => (await life.session("asks").info()).state === "waiting", "it asks");
      await stage.clock.advance(1_000);
      await Promise.all(
        Array.from({ length: 250 }, (_, n) => life.session(`idle${n}`).send(line("l"))),
      );
      const [frame] = following(life).frames;
      if (frame?.type !== "baseline") throw new Error("no baseline");
      expect(frame.data.sessions).toHaveLength(200);
      expect(frame.data.sessions.slice(0, 2).map((it) => it.session)).toEqual(["asks", "runs"]);
      expect(frame.data.agents[0]).toMatchObject({ sessions: 252, state: "waiting" });
    },
  );

  check(
    "[O10] nothing of the host is shown before it is durable, and readers end with it",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      const reading = following(life);
      const release = life.holdSyncs();
      const sending = life.session().send(line("l"));
      await until(() => stage.sql.all("select 1 from entry").length > 0, "the commit");
      const fresh = following(life);
      await turns(5);
      expect(reading.frames).toHaveLength(1);
      expect(fresh.frames).toEqual([]);
      release();
      await sending;
      await turns(3);
      expect(folded(reading.frames)).toEqual(new Map([["s", "idle/1"]]));
      expect(folded(fresh.frames)).toEqual(new Map([["s", "idle/1"]]));
      await life.owner.close();
      expect([reading.ended, fresh.ended]).toEqual(["closed", "closed"]);
    },
  );

  check("[O10] a run that ends is told after its settlement can be read", async (stage) => {
    const life = await stage.open();
    const id = await sent(life.session(), prompt("r"));
    await settled(life.session(), id);
    const reading = following(life);
    expect(folded(reading.frames).get("s")).toMatch(/^idle/);
  });
}
