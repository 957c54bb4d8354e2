import { ModelPage } from "@lichen/wire";
import { expect, test } from "vitest";
import { openAgentRig } from "./agent-rig.ts";
import { refused } from "./rig.ts";

const models = {
  models: [
    { model: "p/cold", name: "Cold & far", reasoning: [], isReady: false },
    {
      model: "p/warm",
      reasoning: ["off" as const, "low" as const],
      contextWindow: 9,
      isReady: true,
    },
  ],
  default: "p/warm",
};

test("[H30] the models of an agent are listed and searched in the shape of the wire", async () => {
  await using rig = await openAgentRig({ models });
  const [cold, warm] = models.models;
  const all = await rig.ask("/agents/a/models");
  expect([all.status, all.json()]).toEqual([
    200,
    { models: [warm, cold], default: "p/warm", more: false },
  ]);
  expect(ModelPage.parse(all.json()).models).toEqual([warm, cold]);
  expect((await rig.ask("/agents/a/models?limit=1&q=P/")).json()).toEqual({
    models: [warm],
    default: "p/warm",
    more: true,
  });
  expect((await rig.ask("/agents/a/models?q=cold%20%26%20F")).json()).toMatchObject({
    models: [cold],
    more: false,
  });
  const { features } = (await rig.ask("/health")).json() as { features: string[] };
  expect(features).toContain("models");
});

test("[H30] a query for models that cannot be is refused and named, as are other methods and agents", async () => {
  await using rig = await openAgentRig({ models });
  for (const [query, field] of [
    ["limit=0", "limit"],
    ["limit=201", "limit"],
    ["limit=ten", "limit"],
    ["limit=1&limit=2", "limit"],
    ["Q=x", "Q"],
    [`q=${"x".repeat(257)}`, "q"],
  ]) {
    const answer = refused(await rig.ask(`/agents/a/models?${query}`));
    expect(answer, query).toMatchObject({ status: 400, code: "invalid" });
    expect(answer.message, query).toContain(field);
  }
  const other = await rig.ask("/agents/a/models", { method: "POST", json: {} });
  expect([other.status, other.headers.allow]).toEqual([405, "HEAD, GET"]);
  expect(refused(await rig.ask("/agents/b/models"))).toMatchObject({
    status: 404,
    code: "unknown_agent",
  });
});
