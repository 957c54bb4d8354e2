import type { Baseline, Fault, JsonObject } from "@lichen/wire";
import { expect } from "vitest";
import type { Session } from "../src/index.ts";
import { type EngineScript, scriptedEngine } from "../src/testing/index.ts";
import { until } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, prompt, sent, settled } from "./stage.ts";

type Approval = Baseline["approvals"][number];

async function asked(session: Session, count = 1): Promise<Approval[]> {
  await until(async () => (await session.info()).approvals === count, `${count} approvals`);
  return (await session.read()).approvals;
}

const answer = (requestId: string, { approvalId }: Approval, extra: JsonObject = {}) =>
  ({ type: "answer", requestId, approvalId, allow: true, ...extra }) as const;

/** A run that makes write calls which need a person. */
const confirming = (...names: string[]): EngineScript => [
  { calls: names.map((name) => ({ name, label: "write", confirm: {} })) },
  { say: "went on" },
];

/** What a denial that stops its run promises on any host. */
export function denialsContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[P7] a denial with `interrupt` ends the run with it, in one step, and withdraws what else it asks",
    async (stage) => {
      const life = await stage.open({
        engine: scriptedEngine(confirming("one", "two")),
      });
      const session = life.session();
      const id = await sent(session, prompt("r1"));
      const [first, second] = await asked(session, 2);
      const stop = { allow: false, message: "Not here.", interrupt: true };
      await session.send(answer("a1", first!, stop));
      expect(await settled(session, id)).toMatchObject({ terminal: "cancelled", answer: "" });
      const entries = await entriesOf(session);
      const at = entries.findIndex(({ kind }) => kind === "approval.answered");
      expect(entries[at]?.data).toMatchObject(stop);
      const kinds = entries.slice(at).map(({ kind }) => kind);
      expect(kinds.filter((kind) => kind !== "message.tool")).toEqual([
        ...["approval.answered", "command.cancelled", "approval.withdrawn", "run.settled"],
      ]);
      expect((await session.send(answer("a2", second!))).status).toBe("too_late");
      expect((await session.send(answer("a1", first!, stop))).replay).toBe(true);
    },
  );

  check(
    "[P7] what is allowed cannot be stopped by its answer: that is refused, and it waits on",
    async (stage) => {
      const life = await stage.open({ engine: confirming("pay") });
      const session = life.session();
      const id = await sent(session, prompt("r1"));
      const [approval] = await asked(session);
      const refused = await session
        .send(answer("a1", approval!, { interrupt: true }))
        .catch((error: Fault) => error);
      expect(refused).toMatchObject({
        code: "invalid",
        message: expect.stringMatching(/^interrupt: .* deny it or leave `interrupt` out/),
      });
      expect((await session.info()).approvals).toBe(1);
      await session.send(answer("a2", approval!, { interrupt: false }));
      expect((await settled(session, id)).terminal).toBe("completed");
    },
  );

  check("[P7] a run that a dead process left ends by such a denial too", async (stage) => {
    const life = await stage.open({ engine: confirming("pay") });
    const id = await sent(life.session(), prompt("r1"));
    const [approval] = await asked(life.session());
    life.die();
    const session = (await stage.open({ engine: confirming("pay") })).session();
    await session.send(answer("a1", approval!, { allow: false, interrupt: true }));
    expect((await settled(session, id)).terminal).toBe("cancelled");
  });
}
