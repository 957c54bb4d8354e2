import type { ModelInfo } from "@lichen/wire";
import { expect } from "vitest";
import { scriptedEngine } from "../src/testing/index.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { refusal } from "./stage.ts";

const model = (spec: string, isReady: boolean, name?: string): ModelInfo => ({
  model: spec,
  reasoning: ["off", "high"],
  contextWindow: 1_000,
  isReady,
  ...(name === undefined ? {} : { name }),
});

/** What an agent tells of the models of its engine on any host. */
export function modelsContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[L13] models are found by a part of their spec or name in any case, those that are ready first, in the engine's order",
    async (stage) => {
      const models = [
        model("z/one", false, "Great One"),
        model("y/two", true),
        model("a/three", false, "Gréat"),
        model("b/four", true, "the GREAT four"),
      ];
      const engine = scriptedEngine(undefined, {
        models: { models, default: "y/two", reasoning: "high" },
      });
      const { agent } = await stage.open({ engine });
      const specs = async (q?: string) =>
        (await agent.models(q === undefined ? {} : { q })).models.map((it) => it.model);
      const page = await agent.models();
      expect(page).toMatchObject({ default: "y/two", reasoning: "high", more: false });
      expect(page.models).toEqual([models[1], models[3], models[0], models[2]]);
      expect(await specs("")).toHaveLength(4);
      expect(await specs("great")).toEqual(["b/four", "z/one"]);
      expect(await specs("GRÉAT")).toEqual(["a/three"]);
      expect(await specs("/t")).toEqual(["y/two", "a/three"]);
      expect(await specs("none of them")).toEqual([]);
    },
  );

  check("[L13] a page holds at most 200 models and says whether there are more", async (stage) => {
    const models = Array.from({ length: 201 }, (_, n) => model(`p/m${n}`, n === 200));
    const { agent } = await stage.open({
      engine: scriptedEngine(undefined, { models: { models } }),
    });
    const page = await agent.models();
    expect(page.models).toHaveLength(200);
    expect([page.models[0]!.model, page.more]).toEqual(["p/m200", true]);
    expect(await agent.models({ limit: 1, q: "m200" })).toEqual({
      models: [models[200]],
      more: false,
    });
    for (const limit of [0, 201, 1.5, Number.NaN])
      expect(await refusal(agent.models({ limit })), String(limit)).toBe("invalid");
    expect(await refusal(agent.models({ q: "\ud800" }))).toBe("invalid");
    expect(await refusal(agent.models({ q: "x".repeat(257) }))).toBe("invalid");
  });

  check("[L13] an agent whose engine offers no choice has no models", async (stage) => {
    const { agent } = await stage.open();
    expect(await agent.models({ q: "x" })).toEqual({ models: [], more: false });
  });
}
