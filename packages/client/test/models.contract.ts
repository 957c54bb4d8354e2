// What an agent answers of its models, wherever it is: run for an owner in this process and for one across HTTP.

import type { ModelCatalogue } from "@lichen/runtime";
import { describe, expect, test } from "vitest";
import type { Client } from "../src/index.ts";
import { codeOf } from "./session.contract.ts";

/** Opens a client of a fresh owner with one agent, `a`, that has these models. */
export type OpenModels = (
  models?: ModelCatalogue,
) => Promise<AsyncDisposable & { readonly client: Client }>;

const catalogue: ModelCatalogue = {
  models: [
    { model: "far/off", name: "Far & Öff?", reasoning: [], isReady: false },
    { model: "near/by", reasoning: ["off", "max"], contextWindow: 200_000, isReady: true },
  ],
  default: "near/by",
  reasoning: "max",
};

export function modelsContract(where: string, open: OpenModels): void {
  describe(where, () => {
    test("[N25] an agent's models are listed with its default, those that are ready first, and searched", async () => {
      await using opened = await open(catalogue);
      const agent = opened.client.agent("a");
      const [far, near] = catalogue.models;
      expect(await agent.models()).toEqual({ ...catalogue, models: [near, far], more: false });
      expect(await agent.models({ limit: 1 })).toMatchObject({ models: [near], more: true });
      expect((await agent.models({ q: "& öFF?" })).models).toEqual([far]);
      expect((await agent.models({ q: "" })).models).toHaveLength(2);
      expect(await codeOf(() => agent.models({ limit: 201 }))).toBe("invalid");
      expect(await codeOf(() => agent.models({ q: "x".repeat(257) }))).toBe("invalid");
    });

    test("[N25] a session is set to a model that was listed and says so; where none can be chosen the page is empty", async () => {
      await using opened = await open(catalogue);
      const agent = opened.client.agent("a");
      const { info } = await agent.create({ requestId: "c", session: "s" });
      expect([info.model, info.reasoning]).toEqual([undefined, undefined]);
      const [chosen] = (await agent.models({ q: "near" })).models;
      const changes = { model: chosen!.model, reasoning: chosen!.reasoning.at(-1)! };
      expect(await agent.session("s").change(changes)).toMatchObject(changes);
      expect(await agent.session("s").info()).toMatchObject(changes);

      await using without = await open();
      expect(await without.client.agent("a").models()).toEqual({ models: [], more: false });
      expect(await codeOf(async () => without.client.agent("b").models())).toBe("unknown_agent");
    });
  });
}
