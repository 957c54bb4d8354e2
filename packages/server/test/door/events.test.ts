import { Baseline, Entry, foldBaseline } from "@lichen/wire";
import { describe, expect, test } from "vitest";
import { type AgentRig, openAgentRig } from "./agent-rig.ts";
import { type Ask, type OpenStream, openStream } from "./rig.ts";

interface Event {
  event: string;
  id?: string;
  data: unknown;
}

/** Reads one event of a stream, passing over comments. */
async function nextEvent(stream: OpenStream): Promise<Event> {
  for (;;) {
    const lines = (await stream.until("\n\n")).trimEnd().split("\n");
    if (lines[0]!.startsWith(":")) continue;
    const field = (name: string) =>
      lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    const id = field("id");
    return {
      event: field("event")!,
      ...(id === undefined ? {} : { id }),
      data: JSON.parse(field("data")!) as unknown,
    };
  }
}

const open = (rig: AgentRig, path: string, ask: Ask = {}): Promise<OpenStream> =>
  openStream(rig.served.port, path, { token: rig.tokens.owner, ...ask });

const line = (rig: AgentRig, n: number) =>
  rig.ask("/agents/a/sessions/s/commands", {
    json: { type: "line", requestId: `line ${n}`, text: `line ${n}` },
  });

const stream = "/agents/a/sessions/s/events";

describe("a session's stream", () => {
  test("[H13] begins with a baseline, then carries every entry with its id, and folds to what a read shows", async () => {
    await using rig = await openAgentRig({
      script: [{ partials: ["wri", "writing"] }, { say: "written" }],
    });
    await line(rig, 1);
    await using reader = await open(rig, stream);
    const first = await nextEvent(reader);
    let baseline = Baseline.parse(first.data);
    expect([first.event, first.id]).toEqual(["baseline", `${baseline.epoch}.1`]);
    await rig.agent.session("s").send({ type: "prompt", requestId: "p", text: "go" });
    for (let isSettled = false; !isSettled;) {
      const { event, id, data } = await nextEvent(reader);
      if (event === "partial") {
        expect(id).toBeUndefined();
        continue;
      }
      expect(event).toBe("entry");
      const entry = Entry.parse(data);
      expect(id).toBe(`${baseline.epoch}.${baseline.head + 1}`);
      expect(entry.seq).toBe(baseline.head + 1);
      baseline = foldBaseline(baseline, entry);
      isSettled = entry.kind === "run.settled";
    }
    const read = Baseline.parse((await rig.ask("/agents/a/sessions/s")).json());
    expect(baseline.session).toEqual(read.session);
    expect(baseline.entries).toEqual(read.entries);
  });

  test("[H14] a reader that comes back at any entry, or half-way through one, misses nothing and gets nothing twice", async () => {
    await using rig = await openAgentRig();
    const count = 12;
    for (let n = 1; n <= count; n++) await line(rig, n);
    const { epoch } = Baseline.parse((await rig.ask("/agents/a/sessions/s")).json());
    for (let seq = 0; seq <= count; seq++)
      for (const ask of [
        { headers: { "last-event-id": `${epoch}.${seq}` } },
        { query: `?after=${epoch}.${seq}` },
        { headers: { "last-event-id": `${epoch}.${seq}` }, query: `?after=${epoch}.0` },
      ]) {
        const { query = "", ...rest } = ask as { query?: string };
        await using reader = await open(rig, stream + query, rest);
        for (let next = seq + 1; next <= count; next++)
          expect(await nextEvent(reader)).toMatchObject({ event: "entry", id: `${epoch}.${next}` });
      }
    // Cut in mid-frame: what was not received whole has no id yet, and comes again.
    await using torn = await open(rig, `${stream}?after=${epoch}.3`);
    await torn.until('"kind":');
    await torn[Symbol.asyncDispose]();
    await using back = await open(rig, stream, { headers: { "last-event-id": `${epoch}.3` } });
    expect((await nextEvent(back)).id).toBe(`${epoch}.4`);
  });

  test("[H14] a connection that breaks at any byte loses no entry and shows none twice", async () => {
    await using rig = await openAgentRig();
    const count = 4;
    for (let n = 1; n <= count; n++) await line(rig, n);
    const { epoch } = Baseline.parse((await rig.ask("/agents/a/sessions/s")).json());
    const seqs = (text: string) =>
      [...text.matchAll(/^event: entry\nid: \w+\.(\d+)\ndata: .*\n\n/gm)].map((it) =>
        Number(it[1]),
      );
    const from = async (seq: number) => {
      await using reader = await open(rig, `${stream}?after=${epoch}.${seq}`);
      let text = "";
      for (let at = seq; at < count; at++) text += await reader.until("\n\n");
      return text;
    };
    const whole = await from(0);
    const resumed = await Promise.all(
      Array.from({ length: count + 1 }, async (_, seq) => seqs(await from(seq))),
    );
    for (let bytes = 0; bytes <= whole.length; bytes++) {
      // What a reader has taken is what came whole; its cursor is the id of the last of these.
      const taken = seqs(whole.slice(0, bytes));
      expect([...taken, ...resumed[taken.at(-1) ?? 0]!]).toEqual([1, 2, 3, 4]);
    }
  });

  test("[H14] a reader of another epoch, or from beyond the head, is reset; an empty Last-Event-ID is none", async () => {
    await using rig = await openAgentRig();
    await line(rig, 1);
    const { epoch } = Baseline.parse((await rig.ask("/agents/a/sessions/s")).json());
    for (const after of ["0ther.1", `${epoch}.2`, `${epoch}.999999`]) {
      await using reader = await open(rig, stream, { headers: { "last-event-id": after } });
      const { event, id } = await nextEvent(reader);
      expect([event, id], after).toEqual(["reset", `${epoch}.1`]);
    }
    await using fresh = await open(rig, stream, { headers: { "last-event-id": "" } });
    expect((await nextEvent(fresh)).event).toBe("baseline");
  });

  test("[H13] a session that is not there has no stream, and one that is deleted ends its streams", async () => {
    await using rig = await openAgentRig();
    expect((await rig.ask(stream)).status).toBe(404);
    await line(rig, 1);
    await using reader = await open(rig, stream);
    await nextEvent(reader);
    await rig.ask("/agents/a/sessions/s", { method: "DELETE" });
    expect(await reader.rest()).toBe(": deleted\n\n");
  });

  test("[H15] a reader that stops reading is reset when it reads on, and the others never wait for it", async () => {
    await using rig = await openAgentRig();
    await line(rig, 0);
    const slow = await open(rig, stream);
    await nextEvent(slow);
    slow.pause();
    await using quick = await open(rig, stream);
    const { id } = await nextEvent(quick);
    const epoch = id!.split(".")[0]!;
    const session = rig.agent.session("s");
    const count = 3_000;
    const text = "x".repeat(8_000);
    // In portions, so that the quick reader is never far enough behind to be reset itself.
    for (let first = 0; first < count; first += 250) {
      await Promise.all(
        Array.from({ length: 250 }, (_, n) =>
          session.send({ type: "line", requestId: `${first + n}`, text }),
        ),
      );
      for (let n = 0; n < 250; n++)
        expect((await nextEvent(quick)).id).toBe(`${epoch}.${first + n + 2}`);
    }
    slow.resume();
    let expected = 2;
    let resets = 0;
    while (expected <= count + 1) {
      const { event, id: at } = await nextEvent(slow);
      const seq = Number(at!.split(".")[1]);
      if (event === "reset") resets++;
      else expect(seq, "no gap but by a reset").toBe(expected);
      expected = seq + 1;
    }
    expect(resets).toBe(1);
    await slow[Symbol.asyncDispose]();
  }, 60_000);

  test("[H15] a thousand readers of one session all get every entry", async () => {
    await using rig = await openAgentRig();
    await line(rig, 0);
    const readers = await Promise.all(Array.from({ length: 1_000 }, () => open(rig, stream)));
    await Promise.all(readers.map((reader) => nextEvent(reader)));
    expect(rig.door.openStreams).toBe(1_000);
    for (let n = 1; n <= 5; n++) await line(rig, n);
    for (const reader of readers)
      for (let seq = 2; seq <= 6; seq++)
        expect(Number((await nextEvent(reader)).id!.split(".")[1])).toBe(seq);
    await Promise.all(readers.map((reader) => reader[Symbol.asyncDispose]()));
  }, 60_000);

  test("[H24] two clients see the same session, whoever of them writes", async () => {
    await using rig = await openAgentRig({ script: [{ say: "hello to both" }] });
    const viewer = rig.tokens.issue({ kind: "viewer" }).token;
    await line(rig, 0);
    await using one = await open(rig, stream);
    await using two = await open(rig, stream, { token: viewer });
    const send = (requestId: string) =>
      rig.ask("/agents/a/sessions/s/commands", {
        json: { type: "prompt", requestId, text: requestId },
      });
    const receipts = await Promise.all([send("from one"), send("from two"), send("from one")]);
    expect(receipts.map((it) => it.status).toSorted((a, b) => a - b)).toEqual([200, 202, 202]);
    const follow = async (reader: OpenStream) => {
      const ids: string[] = [];
      for (let settled = 0; settled < 2;) {
        const { event, id, data } = await nextEvent(reader);
        if (event !== "entry" && event !== "baseline") continue;
        ids.push(id!);
        if (event === "entry" && Entry.parse(data).kind === "run.settled") settled++;
      }
      return ids;
    };
    const [a, b] = await Promise.all([follow(one), follow(two)]);
    expect(a).toEqual(b);
  });

  test("[H14] a host that goes down ends a stream at a place from which the reader goes on", async () => {
    await using rig = await openAgentRig();
    await line(rig, 1);
    await using reader = await open(rig, stream);
    const { id } = await nextEvent(reader);
    await line(rig, 2);
    const next = await nextEvent(reader);
    rig.door.drain();
    expect(await reader.rest()).toBe(": closed\n\n");
    expect([id, next.id].map((it) => it!.split(".")[1])).toEqual(["1", "2"]);
    expect((await rig.ask(stream)).status).toBe(503);
    expect(rig.door.openStreams).toBe(0);
  });

  test("[H14] a settlement that somebody waits for is answered 503 when the host goes down", async () => {
    await using rig = await openAgentRig({ script: [{ hang: true }] });
    const { commandId } = await rig.agent
      .session("s")
      .send({ type: "prompt", requestId: "p", text: "x" });
    const waiting = rig.ask(
      `/agents/a/sessions/s/settlement?commandId=${commandId}&timeoutMs=30000`,
    );
    // The request is on its way in once another one, sent after it, was answered.
    await rig.ask("/agents");
    rig.door.drain();
    expect((await waiting).status).toBe(503);
  });
});

describe("the host's stream", () => {
  test("[H13] carries what changes in all sessions, from its own cursor on", async () => {
    await using rig = await openAgentRig();
    await using reader = await open(rig, "/events");
    const first = await nextEvent(reader);
    expect(first).toMatchObject({ event: "baseline", data: { sessions: [] } });
    await line(rig, 1);
    const changed = await nextEvent(reader);
    expect(changed).toMatchObject({ event: "session", data: { session: "s", agent: "a" } });
    await rig.ask("/agents/a/sessions/s", { method: "DELETE" });
    let gone = await nextEvent(reader);
    while (gone.event === "session") gone = await nextEvent(reader);
    expect(gone).toMatchObject({ event: "deleted", data: { session: "s", agent: "a" } });

    await using back = await open(rig, "/events", { headers: { "last-event-id": first.id! } });
    expect((await nextEvent(back)).event).toBe("deleted");
    await using foreign = await open(rig, "/events?after=0ther.1");
    expect((await nextEvent(foreign)).event).toBe("reset");
    rig.door.drain();
    expect(await reader.rest()).toBe(": closed\n\n");
  });
});
