import { InMemoryCredentialStore } from "@earendil-works/pi-ai";
import { expect, test } from "vitest";
import {
  createModelEngine,
  createModels,
  demoSpec,
  type ModelEngineOptions,
} from "../../src/index.ts";
import { providers } from "../../src/model/providers.ts";

const ollama = {
  baseUrl: "http://127.0.0.1:11434/v1",
  api: "openai-completions",
  models: [{ id: "llama3" }],
};

function models(given: Record<string, unknown>, env: Record<string, string> = {}) {
  return createModels({
    modelsJson: JSON.stringify({ providers: given }),
    env: (name) => env[name],
  });
}

test("[E52] without a name and a key the demo model is chosen, and why is said", async () => {
  const choice = await createModels().whichModel();
  expect(choice).toMatchObject({ state: "ready", spec: demoSpec, isDemo: true });
  expect(choice.why).toContain("ANTHROPIC_API_KEY");
});

test("[E53] a key that is set chooses its provider's model", async () => {
  const found = createModels({ env: (name) => (name === "OPENAI_API_KEY" ? "k" : undefined) });
  expect(await found.whichModel()).toMatchObject({
    state: "ready",
    isDemo: false,
    spec: /^openai\//,
  });
  const credentials = new InMemoryCredentialStore();
  await credentials.modify("mistral", async () => ({ type: "api_key", key: "k" }));
  expect(await createModels({ credentials }).whichModel()).toMatchObject({ spec: /^mistral\// });
});

test("[E54] a model that was named is never replaced: what is missing is said", async () => {
  const choice = await createModels({
    env: (name) => (name === "OPENAI_API_KEY" ? "k" : undefined),
  }).whichModel("anthropic/claude-sonnet-5-5");
  expect(choice).toMatchObject({
    state: "missing",
    keys: expect.arrayContaining(["ANTHROPIC_API_KEY"]),
  });
  expect(choice.why).toContain("ANTHROPIC_API_KEY");
  const own = await models({ mine: { ...ollama, apiKey: "$MY_KEY" } }).whichModel("mine/llama3");
  expect(own).toMatchObject({ state: "missing", keys: ["MY_KEY"] });
});

test("[E55] a model or level that does not exist is refused with near names", async () => {
  const all = createModels();
  await expect(all.resolveModel("anthropic/claude-sonet-5-5")).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("anthropic/claude-sonnet-5-5"),
  });
  await expect(all.resolveModel("antropic/x")).rejects.toThrow(/anthropic/);
  await expect(all.resolveModel("constructor/x")).rejects.toMatchObject({ code: "invalid" });
  await expect(all.resolveModel("nonsense")).rejects.toThrow(/provider\/model/);
  await expect(all.checkSettings({ model: demoSpec, reasoning: "high" })).rejects.toThrow(/off/);
  await expect(all.checkSettings({ model: demoSpec, reasoning: "off" })).resolves.toBeUndefined();
});

test("[E56] models.json adds endpoints of one's own and changes those that are built in", async () => {
  const all = models(
    {
      local: ollama,
      anthropic: { baseUrl: "http://127.0.0.1:9/proxy", apiKey: "$PROXY_KEY" },
    },
    { PROXY_KEY: "pk" },
  );
  expect(await all.resolveModel("local/llama3")).toMatchObject({
    baseUrl: "http://127.0.0.1:11434/v1",
    contextWindow: 128_000,
  });
  expect(await all.whichModel("local/llama3")).toMatchObject({ state: "ready" });
  const claude = await all.resolveModel("anthropic/claude-sonnet-5-5");
  expect(claude.baseUrl).toBe("http://127.0.0.1:9/proxy");
  expect(await all.secretsOf(claude)).toEqual(["pk"]);
  expect(await all.whichModel()).toMatchObject({ spec: "local/llama3" });
});

test("[E65] every provider's key in the environment is a secret, whichever model runs; names of accounts are none", async () => {
  const all = models(
    { local: { ...ollama, apiKey: "$LOCAL_KEY" } },
    { LOCAL_KEY: "of-local", OPENAI_API_KEY: " of-openai ", AWS_PROFILE: "default", HF_TOKEN: "" },
  );
  const local = await all.resolveModel("local/llama3");
  expect((await all.secretsOf(local)).toSorted()).toEqual(["of-local", "of-openai"]);
  const demo = await all.resolveModel(demoSpec);
  expect(await all.secretsOf(demo)).toContain("of-openai");
});

test("[E57] a models.json that cannot be used is refused with the place and the reason, and the former one stays", async () => {
  const all = models({ local: ollama });
  const wrong: [string, RegExp][] = [
    ["{", /not JSON/],
    ['{"providers":{"x":{"apiKey":"!cat /etc/passwd"}}}', /commands are not run/],
    ['{"providers":{"x":{"headers":{"A":"!echo"}}}}', /commands are not run/],
    ['{"providers":{"x":{"colour":1}}}', /providers\.x.*colour/],
    ['{"provider":{}}', /provider/],
    ['{"providers":{"x":{"baseUrl":"nowhere"}}}', /providers\.x\.baseUrl/],
  ];
  for (const [text, reason] of wrong) {
    expect(() => all.useModelsJson(text)).toThrow(reason);
    expect(() => createModels({ modelsJson: text })).toThrow(/models\.json/);
  }
  expect((await all.resolveModel("local/llama3")).id).toBe("llama3");
  all.useModelsJson('{"providers":{"bare":{"models":[{"id":"m"}]}}}');
  await expect(all.resolveModel("bare/m")).rejects.toThrow(/baseUrl/);
  await expect(all.resolveModel("local/llama3")).rejects.toThrow(/no provider "local"/);
});

test("[E58] every provider can be loaded, has what it prefers, and is listed with whether it is ready", async () => {
  for (const [id, entry] of Object.entries(providers)) {
    const provider = await entry.load();
    expect(provider.id).toBe(id);
    const known = provider.getModels().map((model) => model.id);
    expect(known).toEqual(expect.arrayContaining([...(entry.preferred ?? [])]));
  }
  const all = createModels({ env: (name) => (name === "XAI_API_KEY" ? "k" : undefined) });
  const found = await all.listModels("grok");
  expect(found[0]).toMatchObject({ spec: /^xai\//, isReady: true });
  expect(found.every((it) => `${it.spec} ${it.name}`.toLowerCase().includes("grok"))).toBe(true);
  expect(found.some((it) => !it.isReady)).toBe(true);
  const listed = await all.listProviders();
  expect(listed.filter((it) => it.ways[0] === "account").map((it) => it.id)).toEqual(
    expect.arrayContaining(["anthropic", "github-copilot"]),
  );
  expect(listed.filter((it) => it.found)).toMatchObject([
    { id: "xai", found: { way: "key", isStored: false, source: "XAI_API_KEY" } },
  ]);
});

test("[E59] a login is kept in the store of credentials and taken out again", async () => {
  const credentials = new InMemoryCredentialStore();
  const all = createModels({ credentials });
  const typed = { prompt: async () => "typed-key", notify: () => {} };
  await all.login("groq", typed);
  await all.login("anthropic", typed, "key");
  expect(await credentials.read("anthropic")).toMatchObject({ type: "api_key", key: "typed-key" });
  await expect(all.login("groq", typed, "account")).rejects.toThrow(/no login with an account/);
  const stored = (await all.listProviders()).filter((it) => it.found?.isStored);
  expect(stored.map((it) => it.id)).toEqual(["anthropic", "groq"]);
  await all.logout("anthropic");
  expect(await credentials.read("groq")).toMatchObject({ type: "api_key", key: "typed-key" });
  expect(await all.whichModel("groq/openai/gpt-oss-120b")).toMatchObject({ state: "ready" });
  await all.logout("groq");
  expect(await all.whichModel("groq/openai/gpt-oss-120b")).toMatchObject({ state: "missing" });
  await expect(all.login("grok", { prompt: async () => "", notify: () => {} })).rejects.toThrow(
    /groq/,
  );
});

/** The model engine's own word on its models. */
function catalogue(options: Pick<ModelEngineOptions, "models" | "defaults">) {
  const engine = createModelEngine({
    ...options,
    after: () => () => {},
    definition: async () => ({ system: "", tools: [], cwd: "." }),
  });
  return engine.models!();
}

test("[E67] the engine tells each model's levels, window and readiness, and none where it does not reason", async () => {
  const { models: all } = await catalogue({
    models: models({ local: { ...ollama, apiKey: "$LOCAL_KEY" } }, { OPENAI_API_KEY: "k" }),
  });
  const told = (spec: string) => all.find(({ model }) => model === spec);
  expect(told("local/llama3")).toEqual({
    model: "local/llama3",
    name: "llama3",
    reasoning: [],
    contextWindow: 128_000,
    isReady: false,
  });
  expect(told(demoSpec)).toMatchObject({ reasoning: [], isReady: true });
  const claude = told("anthropic/claude-sonnet-5-5")!;
  expect(claude).toMatchObject({ isReady: false, reasoning: expect.arrayContaining(["high"]) });
  expect(claude.contextWindow).toBeGreaterThan(100_000);
  expect(all.filter(({ model }) => model.startsWith("openai/")).every((it) => it.isReady)).toBe(
    true,
  );
  for (const reasoning of claude.reasoning)
    await createModels().checkSettings({ model: claude.model, reasoning });
});

test("[E67] the default is the model that a run without a choice takes: the named one, else the best at hand", async () => {
  const some = createModels({ env: (name) => (name === "OPENAI_API_KEY" ? "k" : undefined) });
  expect(await catalogue({ models: some })).toMatchObject({
    default: (await some.whichModel()).spec,
    reasoning: "off",
  });
  expect(await catalogue({ models: createModels() })).toMatchObject({ default: demoSpec });
  const named = { model: "anthropic/claude-sonnet-5-5", reasoning: "high" } as const;
  expect(await catalogue({ models: some, defaults: async () => named })).toMatchObject({
    default: named.model,
    reasoning: "high",
  });
  const gone = async () => ({ model: "anthropic/gone" });
  expect((await catalogue({ models: some, defaults: gone })).default).toBe("anthropic/gone");
});

test("[E68] listing for the first time loads one catalogue after another, and other work goes on in between", async () => {
  let turns = 0;
  const all = createModels({
    after: (ms, wake) => {
      turns++;
      const timer = setTimeout(wake, ms);
      return () => clearTimeout(timer);
    },
  });
  const [first, meanwhile] = await Promise.all([all.listModels(), all.listModels("sonnet")]);
  expect(turns).toBeGreaterThanOrEqual(Object.keys(providers).length);
  expect(meanwhile.length).toBeGreaterThan(0);
  const before = turns;
  expect(await all.listModels()).toEqual(first);
  expect(turns).toBe(before);
});
