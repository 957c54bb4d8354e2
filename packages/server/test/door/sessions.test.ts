import { Baseline, Receipt, SessionInfo, Settlement } from "@lichen/wire";
import { describe, expect, test } from "vitest";
import { openAgentRig } from "./agent-rig.ts";
import { refused } from "./rig.ts";

const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe("the routes of sessions", () => {
  test("[H21] agents are listed as the wire shapes them", async () => {
    await using rig = await openAgentRig();
    await rig.agent.create({ requestId: "r", session: "s" });
    expect((await rig.ask("/agents")).json()).toEqual({
      agents: [{ agent: "a", name: "a", engine: "scripted", state: "idle", sessions: 1 }],
    });
  });

  test("[H21] a session is created once per request id, read, changed, listed and deleted for good", async () => {
    await using rig = await openAgentRig();
    const body = { requestId: "r", session: "s", title: "First", model: "m", reasoning: "low" };
    const made = await rig.ask("/agents/a/sessions", { json: body });
    expect(made.status).toBe(201);
    const info = SessionInfo.parse(made.json());
    expect(info).toMatchObject({ session: "s", agent: "a", title: "First", state: "idle" });
    const again = await rig.ask("/agents/a/sessions", { json: body });
    expect([again.status, again.json()]).toEqual([200, made.json()]);
    const other = await rig.ask("/agents/a/sessions", { json: { ...body, title: "Second" } });
    expect(refused(other)).toMatchObject({ status: 409, code: "conflict" });

    const read = await rig.ask("/agents/a/sessions/s");
    expect(read.status).toBe(200);
    expect(Baseline.parse(read.json()).session).toEqual(info);
    const changed = await rig.ask("/agents/a/sessions/s", {
      method: "PATCH",
      json: { title: "Renamed" },
    });
    expect([changed.status, SessionInfo.parse(changed.json()).title]).toEqual([200, "Renamed"]);

    expect((await rig.ask("/agents/a/sessions/s", { method: "DELETE" })).status).toBe(204);
    expect((await rig.ask("/agents/a/sessions/s", { method: "DELETE" })).status).toBe(204);
    expect(refused(await rig.ask("/agents/a/sessions/s"))).toMatchObject({
      status: 404,
      code: "unknown_session",
    });
  });

  test("[H21] sessions are listed page by page, latest activity first", async () => {
    await using rig = await openAgentRig();
    for (const session of ["one", "two", "three"])
      await rig.agent.create({ requestId: session, session });
    interface Page {
      sessions: { session: string }[];
      next?: string;
    }
    const seen: string[] = [];
    let next: string | undefined;
    do {
      const before = next === undefined ? "" : `&before=${encodeURIComponent(next)}`;
      const page = (await rig.ask(`/agents/a/sessions?limit=1${before}`)).json() as Page;
      seen.push(...page.sessions.map((it) => it.session));
      next = page.next;
    } while (next !== undefined);
    expect(seen).toEqual(["three", "two", "one"]);
  });

  test("[H21] a baseline is read in pages, and a fork says what it was forked from", async () => {
    await using rig = await openAgentRig();
    for (let line = 1; line <= 5; line++)
      await rig.ask("/agents/a/sessions/s/commands", {
        json: { type: "line", requestId: `r${line}`, text: `line ${line}` },
      });
    const newest = Baseline.parse((await rig.ask("/agents/a/sessions/s?limit=2")).json());
    expect(newest.entries.map((entry) => entry.seq)).toEqual([4, 5]);
    expect(newest.more).toBe(true);
    const older = Baseline.parse((await rig.ask("/agents/a/sessions/s?limit=2&before=4")).json());
    expect(older.entries.map((entry) => entry.seq)).toEqual([2, 3]);

    const at = older.entries[0]!.id;
    const fork = await rig.ask("/agents/a/sessions/s/fork", {
      json: { requestId: "f", at, session: "t" },
    });
    expect(fork.status).toBe(201);
    expect(SessionInfo.parse(fork.json()).forkedFrom).toEqual({ session: "s", at });
    const replay = await rig.ask("/agents/a/sessions/s/fork", {
      json: { requestId: "f", at, session: "t" },
    });
    expect(replay.status).toBe(200);
  });

  test("[H22] a command is 202 with its receipt, a replay 200 and says so, other input a conflict", async () => {
    await using rig = await openAgentRig({ script: [{ say: "done" }] });
    const path = "/agents/a/sessions/s/commands";
    const prompt = { type: "prompt", requestId: "p1", text: "go" };
    const sent = await rig.ask(path, { json: prompt });
    expect(sent.status).toBe(202);
    const receipt = Receipt.parse(sent.json());
    expect(receipt).toEqual({ status: "accepted", commandId: expect.stringMatching(/^cmd_/) });
    const replayed = await rig.ask(path, { json: prompt });
    expect([replayed.status, replayed.json()]).toEqual([200, { ...receipt, replay: true }]);
    const other = await rig.ask(path, { json: { ...prompt, text: "stop" } });
    expect(refused(other)).toMatchObject({ status: 409, code: "conflict" });

    const line = await rig.ask(path, { json: { type: "line", requestId: "l1", text: "note" } });
    expect([line.status, line.json()]).toEqual([
      202,
      { status: "accepted", entryId: expect.stringMatching(/^ent_/) },
    ]);
    const settled = await rig.ask(
      `/agents/a/sessions/s/settlement?commandId=${receipt.commandId}&timeoutMs=30000`,
    );
    expect(Settlement.parse(settled.json())).toMatchObject({
      terminal: "completed",
      answer: "done",
    });
    const late = await rig.ask(path, {
      json: { type: "cancel", requestId: "c1", commandId: receipt.commandId },
    });
    expect(late.json()).toEqual({ status: "too_late", commandId: receipt.commandId });
    const withdrawn = await rig.ask("/agents/a/sessions/s/withdraw", { json: { requestId: "p1" } });
    expect(withdrawn.json()).toEqual({ status: "accepted", commandId: receipt.commandId });
    const fence = await rig.ask("/agents/a/sessions/s/withdraw", { json: { requestId: "p2" } });
    expect(fence.json()).toEqual({ status: "unknown" });
    const fenced = await rig.ask(path, { json: { ...prompt, requestId: "p2" } });
    expect(refused(fenced)).toMatchObject({ status: 409, code: "withdrawn" });
  });

  test("[H22] a busy or absent session, and a command that is not there, are refused by the table", async () => {
    await using rig = await openAgentRig({ script: [{ hang: true }] });
    const path = "/agents/a/sessions/s/commands";
    const prompt = { type: "prompt", text: "go" };
    const absent = await rig.ask(path, {
      json: { ...prompt, requestId: "0", requireExisting: true },
    });
    expect(refused(absent)).toMatchObject({ status: 409, code: "closed" });
    const running = await rig.ask(path, { json: { ...prompt, requestId: "1" } });
    const { commandId } = running.json() as { commandId: string };
    const busy = await rig.ask(path, { json: { ...prompt, requestId: "2", delivery: "reject" } });
    expect(refused(busy)).toMatchObject({ status: 409, code: "busy" });
    expect((busy.json() as { error: object }).error).toMatchObject({ retryable: true });

    const settlement = `/agents/a/sessions/s/settlement?commandId=`;
    expect((await rig.ask(`${settlement}${commandId}`)).json()).toBeNull();
    expect((await rig.ask(`${settlement}${commandId}&timeoutMs=1`)).json()).toBeNull();
    expect(refused(await rig.ask(`${settlement}cmd_nothing`))).toMatchObject({
      status: 404,
      code: "unknown_command",
    });
    const aborted = await rig.ask(path, { json: { type: "abort", requestId: "3" } });
    expect(aborted.json()).toEqual({ status: "accepted", cancelled: [commandId] });
    const settled = await rig.ask(`${settlement}${commandId}&timeoutMs=30000`);
    expect(Settlement.parse(settled.json()).terminal).toBe("cancelled");
  });

  test("[H22] an approval is answered once over HTTP, and the run goes on with the answer", async () => {
    await using rig = await openAgentRig({
      script: [
        { calls: [{ name: "write", input: { path: "x" }, label: "write", confirm: {} }] },
        { say: "written" },
      ],
    });
    const path = "/agents/a/sessions/s";
    const sent = await rig.ask(`${path}/commands`, {
      json: { type: "prompt", requestId: "p", text: "write it" },
    });
    const { commandId } = sent.json() as { commandId: string };
    let approvals = Baseline.parse((await rig.ask(path)).json()).approvals;
    for await (const frame of rig.agent.session("s").watch()) {
      if (frame.type === "baseline") approvals = frame.data.approvals;
      if (frame.type === "entry" && frame.data.kind === "approval.asked")
        approvals = Baseline.parse((await rig.ask(path)).json()).approvals;
      if (approvals.length > 0) break;
    }
    const [approval] = approvals;
    expect(approval).toMatchObject({ kind: "tool", tool: "write", state: "pending" });
    const answer = { type: "answer", approvalId: approval!.approvalId, allow: true };
    const first = await rig.ask(`${path}/commands`, { json: { ...answer, requestId: "a1" } });
    expect([first.status, first.json()]).toEqual([202, { status: "accepted" }]);
    const second = await rig.ask(`${path}/commands`, {
      json: { ...answer, allow: false, requestId: "a2" },
    });
    expect(second.json()).toEqual({ status: "too_late" });
    const settled = await rig.ask(`${path}/settlement?commandId=${commandId}&timeoutMs=30000`);
    expect(Settlement.parse(settled.json())).toMatchObject({
      terminal: "completed",
      answer: "written",
      toolCalls: 1,
    });
  });

  test("[H23] an image sent with a prompt is a blob that is served as it came, for ever and harmlessly", async () => {
    await using rig = await openAgentRig();
    await rig.ask("/agents/a/sessions/s/commands", {
      json: {
        type: "prompt",
        requestId: "p",
        text: "look",
        images: [{ mimeType: "image/png", data: pixel }],
      },
    });
    const baseline = Baseline.parse((await rig.ask("/agents/a/sessions/s")).json());
    const queued = baseline.entries.find((entry) => entry.kind === "command.queued");
    const [image] = queued!.data["images"] as { blob: string }[];
    const blob = await rig.ask(`/agents/a/sessions/s/blobs/${image!.blob}`);
    expect(blob.status).toBe(200);
    expect(blob.body.toString("base64")).toBe(pixel);
    expect(blob.headers).toMatchObject({
      "content-type": "image/png",
      "cache-control": "private, max-age=31536000, immutable",
      "content-security-policy": "default-src 'none'; sandbox",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
    });
    const absent = await rig.ask(`/agents/a/sessions/s/blobs/${"0".repeat(64)}`);
    expect(refused(absent)).toMatchObject({ status: 404, code: "unknown_entry" });
    await rig.agent.create({ requestId: "o", session: "other" });
    const foreign = await rig.ask(`/agents/a/sessions/other/blobs/${image!.blob}`);
    expect(foreign.status).toBe(404);
  });

  test("[H21] what was said is found, newest first", async () => {
    await using rig = await openAgentRig();
    for (const [requestId, text] of [
      ["1", "the red fox"],
      ["2", "a blue whale"],
      ["3", "another fox"],
    ] as const)
      await rig.ask("/agents/a/sessions/s/commands", { json: { type: "line", requestId, text } });
    const answer = await rig.ask("/agents/a/sessions/s/search?q=fox&limit=10");
    const { found } = answer.json() as { found: { seq: number; role: string; snippet: string }[] };
    expect(found.map(({ seq, role }) => [seq, role])).toEqual([
      [3, "line"],
      [1, "line"],
    ]);
    expect(found[0]!.snippet).toContain("another fox");
  });

  test("[H6] every refusal has the one form, is kept by no cache, and names no path of the host", async () => {
    await using rig = await openAgentRig();
    const answers = [
      await rig.ask("/agents", { token: null }),
      await rig.ask("/health", { headers: { host: "evil.example" } }),
      await rig.ask("/nothing"),
      await rig.ask("/agents/a/sessions/none"),
      await rig.ask("/agents/a/sessions", { json: {} }),
      await rig.ask("/agents/a/sessions", { body: "x" }),
      await rig.ask("/agents/a/sessions", { method: "PUT" }),
    ];
    for (const answer of answers) {
      expect(answer.headers).toMatchObject({
        "content-type": "application/json",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
      });
      const body = answer.json() as { error: object };
      expect(Object.keys(body)).toEqual(["error"]);
      expect(Object.keys(body.error)).toEqual(["code", "message", "retryable"]);
      expect(answer.text).not.toContain(rig.stateDir);
      expect(answer.text).not.toContain(rig.tokens.owner);
    }
  });
});
