// Figure 10, the execute door: what a request of a model holds with GitHub's whole interface behind the door, beside
// listing every operation as a tool; and a document of a thousand operations, from its attaching until code calls it.

import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { namespacesText } from "@lichen/capability/execute";
import { openApiFactory } from "@lichen/capability/connectors";
import { capabilityTools, type Tool } from "@lichen/engine";
import { createQuickJsExecutor } from "@lichen/engine/node";
import { type Agent, openOwner } from "@lichen/runtime";
import { nodePlatform, openSql } from "@lichen/runtime/node";
import type { JsonObject } from "@lichen/wire";
import type { BenchContext, Figure, Reading } from "./figure.ts";
import { oneDelta } from "./open-lichen.ts";
import { median } from "./statistics.ts";

/** What the engine takes for a token where it must guess; the ratio is the same with any other. */
const charsPerToken = 3.5;
const operations = 1_000;

export const doorFigure: Figure = {
  number: 10,
  title: "The execute door",
  measure,
};

async function measure(context: BenchContext): Promise<readonly Reading[]> {
  const executor = createQuickJsExecutor();
  context.ends.push(() => executor.close());
  await executor.warm();
  const github = await readFile(
    createRequire(import.meta.url).resolve("@octokit/openapi/generated/api.github.com.json"),
    "utf8",
  );
  const whole = join(context.folder, "github.json");
  const thousand = join(context.folder, "thousand.json");
  await writeFile(whole, github);
  await writeFile(thousand, JSON.stringify(firstOperations(JSON.parse(github) as JsonObject)));

  const agent = await openAgent(context);
  const { source } = agent.capabilities;
  const attach = async (namespace: string, spec: string) => {
    const requestId = crypto.randomUUID();
    const config = { spec, baseUrl: "http://127.0.0.1:9" };
    const { info } = await agent.capabilities.attach({
      requestId,
      kind: "openapi",
      namespace,
      config,
    });
    return info;
  };

  const rounds = context.isQuick ? 1 : 5;
  const times: number[] = [];
  const seen: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const namespace = `api${round}`;
    const start = performance.now();
    const info = await attach(namespace, thousand);
    times.push(performance.now() - start);
    // One of them is served from elsewhere, and is left out.
    if (info.operations < operations - 1) throw new Error(`${info.operations} operations`);
    const [tool] = capabilityTools({ source, executor }).tools;
    const since = performance.now();
    const code = `return (await capabilities.list()).namespaces[0].operations`;
    const told = JSON.stringify(await tool!.execute({ code }, contextOf(context.folder)));
    seen.push(performance.now() - since);
    // The very next execution sees them.
    if (!told.includes(`"${info.operations}"`)) throw new Error(`The execution saw ${told}.`);
    await agent.capabilities.detach(info.id);
  }

  const info = await attach("github", whole);
  const listed = capabilityTools({ source, executor, threshold: Infinity });
  const door = capabilityTools({ source, executor });
  if (listed.offered !== "direct" || door.offered !== "execute") throw new Error(door.offered);
  const prompt = namespacesText(source.surface()).length;
  const [doorChars, listChars] = [charsOf(door.tools) + prompt, charsOf(listed.tools)];
  return [
    {
      what: "tokens with GitHub behind the door, per cent of listing every operation",
      measured: (100 * doorChars) / listChars,
      bound: "at most",
      target: 1,
      unit: "",
      detail: {
        operations: info.operations,
        doorTokens: Math.ceil(doorChars / charsPerToken),
        listedTokens: Math.ceil(listChars / charsPerToken),
      },
    },
    {
      what: "attaching a document of 1,000 operations",
      measured: median(times) / 1_000,
      bound: "at most",
      target: 1,
      unit: "s",
      detail: { rounds, slowestMs: Math.max(...times), nextExecutionMs: median(seen) },
    },
  ];
}

/** As a provider is told of tools. */
function charsOf(tools: readonly Tool[]): number {
  return JSON.stringify(
    tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
  ).length;
}

/** The document with its first thousand operations. */
function firstOperations(document: JsonObject): JsonObject {
  let count = 0;
  const paths: JsonObject = {};
  for (const [path, item] of Object.entries(document["paths"] as JsonObject)) {
    const kept = Object.entries(item as JsonObject).filter(
      ([method]) => !/^(?:get|put|post|delete|patch)$/.test(method) || count++ < operations,
    );
    paths[path] = Object.fromEntries(kept);
  }
  return { ...document, paths };
}

async function openAgent(context: BenchContext): Promise<Agent> {
  const file = await openSql(join(context.folder, "store.db"));
  const platform = nodePlatform({ report: (error) => context.note(String(error)) });
  const owner = openOwner({ sql: file.sql, platform });
  context.ends.push(async () => {
    await owner.close({ patienceMs: 0 });
    await file.close();
  });
  return owner.attach({
    agent: "bench",
    engine: oneDelta(),
    capabilities: {
      factories: [openApiFactory({ readSpec: (path) => readFile(path, "utf8") })],
      resolver: { resolve: async () => ({ ok: true, auth: { kind: "none" } }) },
    },
  });
}

function contextOf(cwd: string): Parameters<Tool["execute"]>[1] {
  return {
    cwd,
    signal: new AbortController().signal,
    session: { agent: "bench", session: "s", commandId: "c" },
    tools: { active: () => [], registered: () => [], activate: async () => [] },
    output: () => {},
    ask: () => Promise.reject(new Error("Nobody can be asked.")),
  };
}
