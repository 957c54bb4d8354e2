// What an agent's capabilities answer, wherever it is: run for an owner in this process and for one across HTTP.

import { describe, expect, test } from "vitest";
import type { Client, HostFrame } from "../src/index.ts";
import { type Notes, notesCapability } from "./notes-capability.ts";
import { codeOf } from "./session.contract.ts";

/** Opens a client of a fresh owner with one agent, `a`, to which these notes can be attached. */
export type OpenCapabilities = (
  notes?: Notes,
) => Promise<AsyncDisposable & { readonly client: Client }>;

const attach = { requestId: "n", kind: "notes", namespace: "notes" };

export function capabilitiesContract(where: string, open: OpenCapabilities): void {
  describe(where, () => {
    test("[N63] a capability is attached once, listed, read in pages, changed and detached", async () => {
      await using opened = await open(notesCapability());
      const { capabilities } = opened.client.agent("a");
      expect(await capabilities.list()).toMatchObject({ capabilities: [], renamed: {} });
      const asked = {
        ...attach,
        config: { title: "ä ☃" },
        auth: { type: "header", secret: "NOTES_TOKEN" },
        labels: { draw: "confirm" as const },
        description: "what was noted",
      };
      const { info, replay } = await capabilities.attach(asked);
      expect(replay).toBe(false);
      expect(info).toMatchObject({
        kind: "notes",
        namespace: "notes",
        state: "active",
        grant: "notes",
        operations: 6,
        description: "what was noted",
        config: { title: "ä ☃" },
        labels: { draw: "confirm" },
        auth: { type: "header", state: "missing", secret: "NOTES_TOKEN" },
      });
      expect(await capabilities.attach(asked)).toEqual({ info, replay: true });
      expect(await codeOf(() => capabilities.attach({ ...asked, config: {} }))).toBe("conflict");
      expect((await capabilities.list()).capabilities).toEqual([info]);

      const whole = await capabilities.read(info.id);
      expect(whole.info).toEqual(info);
      expect(whole.next).toBeUndefined();
      expect(whole.operations.map(({ property, label, confirm }) => [property, label, confirm]))
        .toMatchInlineSnapshot(`
        [
          [
            "add_note",
            "write",
            false,
          ],
          [
            "burn",
            "write",
            true,
          ],
          [
            "draw",
            "write",
            true,
          ],
          [
            "fail",
            "read",
            false,
          ],
          [
            "list",
            "read",
            false,
          ],
          [
            "wait",
            "read",
            false,
          ],
        ]
      `);
      const first = await capabilities.read(info.id, { limit: 4 });
      const second = await capabilities.read(info.id, { limit: 4, after: first.next! });
      expect([...first.operations, ...second.operations]).toEqual(whole.operations);
      expect(second.next).toBeUndefined();
      expect(await codeOf(() => capabilities.read(info.id, { limit: 0 }))).toBe("invalid");

      const changed = await capabilities.change(info.id, { namespace: "book", labels: {} });
      expect(changed).toMatchObject({ id: info.id, namespace: "book", labels: {} });
      const { renamed, revision } = await capabilities.list();
      expect(renamed).toEqual({ notes: "book" });
      expect(await capabilities.refresh(info.id)).toEqual(changed);

      await capabilities.detach(info.id);
      await capabilities.detach(info.id);
      const after = await capabilities.list();
      expect(after.capabilities).toEqual([]);
      expect(after.revision).toBeGreaterThan(revision);
      for (const ask of [
        () => capabilities.read(info.id),
        () => capabilities.change(info.id, { namespace: "x" }),
        () => capabilities.refresh(info.id),
        () => capabilities.call(info.id, { operation: "list" }),
      ])
        expect(await codeOf(ask)).toBe("unknown_capability");
    });

    test("[N63] what cannot be attached is refused, and what cannot be reached too, unless it is to be kept", async () => {
      await using opened = await open(notesCapability());
      const { capabilities } = opened.client.agent("a");
      const refused = (more: object): Promise<string> =>
        codeOf(() => capabilities.attach({ ...attach, ...more }));
      expect(await refused({ kind: "ftp" })).toBe("invalid");
      expect(await refused({ kind: "No Kind" })).toBe("invalid");
      expect(await refused({ namespace: "no name" })).toBe("invalid");
      expect(await refused({ config: { color: "red" } })).toBe("invalid");
      expect(await refused({ more: 1 })).toBe("invalid");
      expect(await refused({ requestId: "r", config: { away: true } })).toBe("unavailable");
      expect((await capabilities.list()).capabilities).toEqual([]);
      const kept = { ...attach, requestId: "k", config: { away: true }, keep: true };
      expect((await capabilities.attach(kept)).info).toMatchObject({
        state: "requested",
        operations: 0,
        problem: { code: "unreachable", message: "The notes are away: bring them back." },
      });
      expect(await codeOf(async () => opened.client.agent("b").capabilities.list())).toBe(
        "unknown_agent",
      );
    });

    test("[N64] an operation is called by either of its names; a failure is an answer, and one that asks needs the word", async () => {
      await using opened = await open(notesCapability());
      const { capabilities } = opened.client.agent("a");
      const { id } = (await capabilities.attach(attach)).info;
      const call = (operation: string, more: object = {}) =>
        capabilities.call(id, { operation, ...more });
      expect(await call("add-note", { input: { text: "milk" } })).toEqual({ ok: true, value: 1 });
      expect(await call("add_note", { input: { text: "ä ☃" } })).toEqual({ ok: true, value: 2 });
      expect(await call("list")).toEqual({ ok: true, value: ["milk", "ä ☃"] });
      expect(await call("fail")).toEqual({
        ok: false,
        code: "out_of_ink",
        message: "There is no ink: fill the pen.",
      });
      expect(await call("draw")).toMatchObject({
        ok: true,
        images: [{ mimeType: "image/png", data: "AQID" }],
      });
      expect(await codeOf(() => call("burn"))).toBe("denied");
      expect(await codeOf(() => call("burn", { confirm: false }))).toBe("denied");
      expect(await call("list")).toMatchObject({ value: ["milk", "ä ☃"] });
      expect(await call("burn", { confirm: true })).toEqual({ ok: true });
      expect(await call("list")).toEqual({ ok: true, value: [] });
      expect(await codeOf(() => call("nothing"))).toBe("invalid");
      expect(await codeOf(() => call("list", { more: 1 }))).toBe("invalid");
    });

    test("[N64] a caller that leaves ends its call", async () => {
      const notes = notesCapability();
      await using opened = await open(notes);
      const { capabilities } = opened.client.agent("a");
      const { id } = (await capabilities.attach(attach)).info;
      const leave = new AbortController();
      const calling = capabilities.call(id, { operation: "wait" }, { signal: leave.signal });
      await notes.waited;
      leave.abort(new Error("enough"));
      const ended = await calling.catch((error: unknown) => error);
      expect(ended).toBeDefined();
      expect(await capabilities.call(id, { operation: "list" })).toEqual({ ok: true, value: [] });
    });

    test("[N65] grants are delivered with versions, and an older one is refused as stale", async () => {
      await using opened = await open(notesCapability());
      const agent = opened.client.agent("a");
      await agent.create({ requestId: "c", session: "s" });
      const session = agent.session("s");
      await session.deliverGrants({ version: 2, grants: { notes: "read" } });
      await session.deliverGrants({ version: 2, grants: { notes: "none", "a b": "write" } });
      expect(
        await codeOf(() => session.deliverGrants({ version: 1, grants: { notes: "write" } })),
      ).toBe("stale");
      expect(
        await codeOf(() =>
          session.deliverGrants({ version: 3, grants: { notes: "all" as "read" } }),
        ),
      ).toBe("invalid");
      expect(
        await codeOf(() => agent.session("none").deliverGrants({ version: 1, grants: {} })),
      ).toBe("unknown_session");
      const { entries } = await session.read();
      expect(entries.map(({ kind, data }) => [kind, data["version"]])).toEqual([
        ["grants.delivered", 2],
        ["grants.delivered", 2],
      ]);
    });

    test("[N66] the host's stream tells that what an agent may call has changed, and what is called otherwise", async () => {
      await using opened = await open(notesCapability());
      const { capabilities } = opened.client.agent("a");
      const leave = new AbortController();
      const frames = opened.client.watchHost({ signal: leave.signal })[Symbol.asyncIterator]();
      const next = async (type: HostFrame["type"]): Promise<unknown> => {
        for (;;) {
          const { value, done } = await frames.next();
          if (done) throw new Error("The stream has ended.");
          if (value.type === type) return value.data;
        }
      };
      await next("baseline");
      const { id } = (await capabilities.attach(attach)).info;
      expect(await next("capabilities")).toMatchObject({ agent: "a", notices: [] });
      await capabilities.change(id, { namespace: "book" });
      const renamed = { from: "notes", to: "book" };
      expect(await next("capabilities")).toMatchObject({ agent: "a", notices: [renamed] });
      await capabilities.detach(id);
      expect(await next("capabilities")).toMatchObject({ agent: "a", notices: [] });
      leave.abort();
    });
  });
}
