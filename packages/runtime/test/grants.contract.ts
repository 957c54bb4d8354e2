import { decide } from "@lichen/capability";
import { expect } from "vitest";
import type { Run } from "../src/index.ts";
import { scriptedEngine } from "../src/testing/index.ts";
import { turns } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { gate, kindsOf, prompt, refusal, run, sent, settled } from "./stage.ts";

const none = { version: 1, grants: { post: "none" } } as const;

/** An engine whose run is held open, and its `Run`. */
function held() {
  const begun = gate<Run>();
  const go = gate();
  const base = scriptedEngine();
  const engine: typeof base = {
    ...base,
    open: () => ({
      run: async (_work, live) => {
        begun.open(live);
        await go.opened;
        return { terminal: "completed", answer: "done" };
      },
      close: async () => {},
    }),
  };
  return { engine, begun: begun.opened, end: () => go.open() };
}

function may(live: Run, label: "read" | "write" = "read"): boolean {
  return decide(live.access(), "post", label).allowed;
}

/** What grants promise on any host. */
export function grantsContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[Z3] a revocation during a run decides its next call, even before it is durable",
    async (stage) => {
      const { engine, begun, end } = held();
      const life = await stage.open({ engine });
      const command = await sent(life.session(), prompt("p"));
      const live = await begun;
      expect([may(live), may(live, "write")]).toEqual([true, true]);
      const release = life.holdSyncs();
      const delivered = life.session().deliverGrants(none);
      expect(may(live)).toBe(false);
      await turns(5);
      expect(may(live)).toBe(false);
      release();
      await delivered;
      expect(may(live)).toBe(false);
      await life.session().deliverGrants({ version: 2, grants: { post: "read" } });
      expect([may(live), may(live, "write")]).toEqual([true, false]);
      end();
      await settled(life.session(), command);
    },
  );

  check(
    "[Z4] a lower version is refused and what stands stays; an equal one replaces, the very same writes nothing",
    async (stage) => {
      const { engine, begun, end } = held();
      const life = await stage.open({ engine });
      const session = life.session();
      const command = await sent(session, prompt("p"));
      const live = await begun;
      await session.deliverGrants({ version: 5, grants: { post: "read" } });
      expect(await refusal(session.deliverGrants({ version: 4, grants: { post: "write" } }))).toBe(
        "stale",
      );
      expect(live.access().delivered).toEqual({ post: "read" });
      await session.deliverGrants({ version: 5, grants: { post: "none" } });
      expect(live.access().delivered).toEqual({ post: "none" });
      const before = await kindsOf(session);
      await session.deliverGrants({ version: 5, grants: { post: "none" } });
      expect(await kindsOf(session)).toEqual(before);
      expect(before.filter((kind) => kind === "grants.delivered")).toHaveLength(2);
      for (const wrong of [
        { version: -1, grants: {} },
        { version: 1.5, grants: {} },
        { version: 9, grants: { post: "all" } },
      ])
        expect(await refusal(session.deliverGrants(wrong as typeof none))).toBe("invalid");
      end();
      await settled(session, command);
    },
  );

  check(
    "[Z4] two deliveries at once leave the higher version, in whatever order they are written",
    async (stage) => {
      const life = await stage.open();
      const session = life.session();
      await run(session, "p");
      const both = [
        session.deliverGrants({ version: 2, grants: { post: "write" } }),
        session.deliverGrants({ version: 3, grants: { post: "none" } }),
        session.deliverGrants({ version: 2, grants: { post: "write" } }),
      ];
      expect(await Promise.all(both.map(refusal))).toEqual(["no refusal", "no refusal", "stale"]);
      life.die();
      const { engine, begun, end } = held();
      const next = await stage.open({ engine });
      const command = await sent(next.session(), prompt("q"));
      expect((await begun).access().delivered).toEqual({ post: "none" });
      end();
      await settled(next.session(), command);
    },
  );

  check(
    "[Z5] a delivery outlives its process, also one made before any engine is there",
    async (stage) => {
      const first = await stage.open();
      await run(first.session(), "p");
      first.die();
      const cold = await stage.open({ agents: [] });
      await cold.owner.deliverGrants({ agent: "a", session: "s" }, none);
      expect(await refusal(cold.owner.deliverGrants({ agent: "b", session: "s" }, none))).toBe(
        "unknown_agent",
      );
      expect(await refusal(cold.owner.deliverGrants({ agent: "a", session: "t" }, none))).toBe(
        "unknown_session",
      );
      cold.die();
      const { engine, begun, end } = held();
      const next = await stage.open({ engine });
      const command = await sent(next.session(), prompt("q"));
      expect(may(await begun)).toBe(false);
      end();
      await settled(next.session(), command);
    },
  );

  check(
    "[Z5] a fork begins with its parent's grants, and is decided about by itself from then on",
    async (stage) => {
      const { engine, begun, end } = held();
      const life = await stage.open();
      await run(life.session(), "p");
      await life.session().deliverGrants(none);
      const { info } = await life.session().fork({ requestId: "f", session: "f" });
      expect(info.head).toBe(1);
      expect(await kindsOf(life.session("f"))).toEqual(["grants.delivered"]);
      await life.session().deliverGrants({ version: 2, grants: { post: "write" } });
      life.die();
      const next = await stage.open({ engine });
      const command = await sent(next.session("f"), prompt("q"));
      expect(may(await begun)).toBe(false);
      end();
      await settled(next.session("f"), command);
    },
  );

  check(
    "[Z5] what was delivered to a session is gone with it: one of the same name begins without",
    async (stage) => {
      const { engine, begun, end } = held();
      const life = await stage.open({ engine });
      await life.agent.create({ requestId: "c", session: "s" });
      await life.session().deliverGrants({ version: 9, grants: { post: "none" } });
      await life.session().delete();
      expect(await refusal(life.session().deliverGrants(none))).toBe("unknown_session");
      await life.agent.create({ requestId: "again", session: "s" });
      const command = await sent(life.session(), prompt("p"));
      const live = await begun;
      expect(live.access().delivered).toBeUndefined();
      await life.session().deliverGrants(none);
      expect(may(live)).toBe(false);
      end();
      await settled(life.session(), command);
    },
  );

  check(
    "[Z6] an agent's own rules are asked at each call; rules that cannot be read refuse everything",
    async (stage) => {
      let rules: () => object = () => ({});
      const { engine, begun, end } = held();
      const life = await stage.open({ engine, access: () => rules() });
      const command = await sent(life.session(), prompt("p"));
      const live = await begun;
      expect(may(live, "write")).toBe(true);
      rules = () => ({ defaults: { post: "read" } });
      expect([may(live), may(live, "write")]).toEqual([true, false]);
      rules = () => ({ required: ["post"] });
      expect(may(live)).toBe(false);
      await life.session().deliverGrants({ version: 1, grants: { post: "write" } });
      expect(may(live, "write")).toBe(true);
      rules = () => {
        throw new Error("the file is gone");
      };
      expect(may(live)).toBe(false);
      expect(stage.reports.splice(0)).toHaveLength(1);
      end();
      await settled(life.session(), command);
    },
  );

  check(
    "[Z7] a delivery that cannot be written counts no more once its caller was told",
    async (stage) => {
      const { engine, begun, end } = held();
      const life = await stage.open({ engine });
      const command = await sent(life.session(), prompt("p"));
      const live = await begun;
      life.trouble = (statement) =>
        statement.includes("delivered_grants values") ? new Error("the disk is full") : undefined;
      const delivered = life.session().deliverGrants(none);
      expect(may(live)).toBe(false);
      await expect(delivered).rejects.toThrow("full");
      expect(may(live)).toBe(true);
      life.trouble = undefined;
      await life.session().deliverGrants(none);
      expect(may(live)).toBe(false);
      end();
      await settled(life.session(), command);
    },
  );
}
