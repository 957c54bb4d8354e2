import type { SurfaceEvent } from "@lichen/capability";
import { expect } from "vitest";
import type { HostFrame } from "../src/index.ts";
import { turns, until } from "./clock.ts";
import { Lender, operation } from "./lender.ts";
import type { Life } from "./life.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { refusal } from "./stage.ts";

const wish = { requestId: "r", kind: "lender" };

/** What can be told apart from outside: the list, and what can be called. */
async function seen(life: Life) {
  const { capabilities } = life.agent;
  return { list: await capabilities.list(), surface: capabilities.source.surface() };
}

/** What an agent's capabilities promise on any host. */
export function capabilitiesContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[G20] what is attached stands in the agent's store, and is there again without its server",
    async (stage) => {
      const lender = new Lender();
      const life = await stage.open({ capabilities: lender.options() });
      const { info, replay } = await life.agent.capabilities.attach(wish);
      expect([info.namespace, info.state, info.operations, replay]).toEqual([
        "lender",
        "active",
        2,
        false,
      ]);
      expect((await life.agent.capabilities.attach(wish)).replay).toBe(true);
      const before = await seen(life);
      life.die();
      lender.isAway = true;
      const next = await stage.open({ capabilities: lender.options() });
      expect(await seen(next)).toEqual(before);
      expect(lender.listed).toBe(1);
      expect(await next.agent.capabilities.call("lender", { operation: "look" })).toEqual({
        ok: true,
        value: { did: "look" },
      });
    },
  );

  check(
    "[G20] megabytes of schemas are stored in parts and read back as they were",
    async (stage) => {
      const text = "ä😀x".repeat(300);
      const lender = new Lender(
        Array.from({ length: 1_000 }, (_, n) => ({
          ...operation(`do/${n}`),
          input: { type: "object", description: `${text}${n}` },
        })),
      );
      const life = await stage.open({ capabilities: lender.options() });
      await life.agent.capabilities.attach(wish);
      const before = await seen(life);
      life.die();
      const next = await stage.open({ capabilities: lender.options() });
      expect(await seen(next)).toEqual(before);
      let after: string | undefined;
      const properties: string[] = [];
      do {
        const page = await next.agent.capabilities.read("lender", {
          limit: 200,
          ...(after === undefined ? {} : { after }),
        });
        properties.push(...page.operations.map(({ property }) => property));
        after = page.next;
      } while (after !== undefined);
      expect(new Set(properties).size).toBe(1_000);
    },
  );

  check("[G20] each agent of a store has its own", async (stage) => {
    const options = { agents: ["a", "b"], capabilities: new Lender().options() };
    const life = await stage.open(options);
    await life.owner.agent("a")!.capabilities.attach(wish);
    expect((await life.owner.agent("b")!.capabilities.list()).capabilities).toEqual([]);
    life.die();
    const next = await stage.open(options);
    expect((await next.owner.agent("b")!.capabilities.list()).capabilities).toEqual([]);
    expect((await next.owner.agent("a")!.capabilities.list()).capabilities).toHaveLength(1);
  });

  check(
    "[G21] a change of what can be called is told to listeners and on the host's stream, once it is durable",
    async (stage) => {
      const lender = new Lender();
      const life = await stage.open({ capabilities: lender.options() });
      const { capabilities } = life.agent;
      const events: SurfaceEvent[] = [];
      const frames: HostFrame[] = [];
      const stop = capabilities.observe((event) => events.push(event));
      life.owner.observeHost({ frame: (frame) => frames.push(frame) > 0, end: () => {} });
      const release = life.holdSyncs();
      const attached = capabilities.attach(wish);
      await turns(20);
      expect([events, capabilities.source.surface().namespaces]).toEqual([[], []]);
      release();
      const { info } = await attached;
      await capabilities.change(info.id, { namespace: "post" });
      lender.operations = [operation("look")];
      lender.tellChanged();
      await until(() => events.length === 3, "the third event");
      expect(events.map(({ revision }) => revision)).toEqual([1, 2, 3]);
      expect(events[1]!.notices).toMatchObject([{ from: "lender", to: "post" }]);
      expect(frames.filter(({ type }) => type === "capabilities")).toMatchObject([
        { data: { agent: "a", revision: 1 } },
        { data: { agent: "a", revision: 2, notices: [{ from: "lender", to: "post" }] } },
        { data: { agent: "a", revision: 3 } },
      ]);
      stop();
      await capabilities.detach(info.id);
      expect(events).toHaveLength(3);
    },
  );

  check("[G22] refusals are faults that say what to do", async (stage) => {
    const lender = new Lender([{ ...operation("pay", "write"), confirm: true }]);
    const { agent } = await stage.open({ capabilities: lender.options() });
    const { capabilities } = agent;
    expect(await refusal(capabilities.read("none"))).toBe("unknown_capability");
    expect(await refusal(capabilities.attach({ requestId: "k", kind: "other" }))).toBe("invalid");
    const auth = { type: "header", secret: "Bearer abc def" };
    expect(await refusal(capabilities.attach({ ...wish, auth }))).toBe("invalid");
    lender.isAway = true;
    expect(await refusal(capabilities.attach(wish))).toBe("unavailable");
    lender.isAway = false;
    const { info } = await capabilities.attach(wish);
    expect(await refusal(capabilities.attach({ ...wish, grant: "x" }))).toBe("conflict");
    expect(await refusal(capabilities.call(info.id, { operation: "pay" }))).toBe("denied");
    expect(await refusal(capabilities.call(info.id, { operation: "pray" }))).toBe("invalid");
    expect(lender.calls).toEqual([]);
    expect(await capabilities.call(info.id, { operation: "pay", confirm: true })).toMatchObject({
      ok: true,
    });
    lender.answer = async () => Promise.reject(new Error("a token: abc"));
    const failed = await capabilities.call(info.id, { operation: "pay", confirm: true });
    expect(failed).toMatchObject({ ok: false, code: "failed" });
    expect(JSON.stringify(failed)).not.toContain("abc");
    expect(stage.reports.splice(0)).toHaveLength(1);
    await capabilities.detach(info.id);
    await capabilities.detach(info.id);
    expect(await refusal(capabilities.call(info.id, { operation: "pay" }))).toBe(
      "unknown_capability",
    );
  });

  check(
    "[G27] what a file of the agent's folder declares is neither changed nor detached by hand, and the refusal names the file",
    async (stage) => {
      const lender = new Lender();
      const { agent } = await stage.open({ capabilities: lender.options() });
      const { capabilities } = agent;
      const { registry } = capabilities;
      const file = "connections/mail.ts";
      const labels = { send: "confirm" } as const;
      await registry.attach({ id: "mail", kind: "lender", labels, file });
      const changes = { labels: { send: "read" } } as const;
      await expect(capabilities.change("mail", changes)).rejects.toMatchObject({
        code: "invalid",
        message: `mail belongs to the agent's folder: change it in ${file}.`,
      });
      await expect(capabilities.detach("mail")).rejects.toMatchObject({
        code: "invalid",
        message: `mail belongs to the agent's folder: take it out of ${file}.`,
      });
      expect((await capabilities.list()).capabilities).toMatchObject([
        { id: "mail", state: "active", labels },
      ]);
      await registry.detach("mail");
      await capabilities.detach("mail");
    },
  );

  check(
    "[G23] an agent that dies after any of its commits comes back whole, and each change was told once stored",
    async (stage) => {
      const lender = new Lender();
      for (let commits = 1; commits <= 14; commits++) {
        const told: SurfaceEvent[] = [];
        const capabilities = lender.options({ changed: (event) => told.push(event) });
        const options = { agents: [`a${commits}`], capabilities };
        const first = await stage.open(options);
        first.dieAfterCommits(commits);
        const ended = tellStory(first).catch(() => {});
        await Promise.race([ended, until(() => first.isDead, "the death")]);
        first.die();
        const next = await stage.open(options);
        const { list, surface } = await seen(next);
        // Neither half attached nor half detached.
        expect(list.capabilities.every(({ state }) => state === "active")).toBe(true);
        expect(surface.namespaces.map(({ id }) => id)).toEqual(
          list.capabilities.map(({ id }) => id),
        );
        const revisions = told.map(({ revision }) => revision);
        expect(revisions).toEqual(Array.from({ length: surface.revision }, (_, n) => n + 1));
        // A third life has nothing more to tell.
        await turns(5);
        next.die();
        const third = await stage.open(options);
        expect(told).toHaveLength(surface.revision);
        for (const { id } of list.capabilities) {
          const before = lender.calls.length;
          const answer = await third.agent.capabilities.call(id, { operation: "look" });
          expect([answer.ok, lender.calls.length]).toEqual([true, before + 1]);
        }
        third.die();
      }
      stage.reports.splice(0);
    },
  );
}

/** Attaches two, renames one and detaches the other. */
async function tellStory(life: Life): Promise<void> {
  const { capabilities } = life.agent;
  const { info } = await capabilities.attach({ ...wish, requestId: "one" });
  await capabilities.attach({ ...wish, requestId: "two" });
  await capabilities.change(info.id, { namespace: "other" });
  await capabilities.detach(info.id);
}
