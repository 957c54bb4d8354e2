// A host with hardly any file handle left, for tests: `node crowded-host.ts FOLDER`. With 0 to 40 of them to spare it
// starts a harness and a terminal and reads a long line, and says as JSON what became of each; then it frees them all and does it once more.

import { closeSync, openSync } from "node:fs";
import { AgentFiles } from "../../src/acp/host/files.ts";
import { Terminals } from "../../src/acp/host/terminals.ts";
import { processHost } from "../../src/harness/host/launch.ts";
import { Lines } from "../../src/harness/host/lines.ts";

const [folder = ""] = process.argv.slice(2);
const env = { PATH: process.env["PATH"] ?? "" };
const held: number[] = [];

function fill(): void {
  try {
    for (;;) held.push(openSync("/dev/null", "r"));
  } catch {
    // There are none left.
  }
}

function free(count: number): void {
  for (const handle of held.splice(0, count)) closeSync(handle);
}

async function harness(): Promise<string> {
  const started = await processHost.launch({
    ...{ argv: ["true"], dir: folder, env, mark: `crowded-${process.pid}` },
    recorded: async () => {},
    line: () => {},
    report: () => {},
  });
  await started.ended;
  return "began";
}

async function terminal(): Promise<string> {
  const options = { dir: folder, env };
  const terminals = new Terminals(options, new AgentFiles(options), `crowded-${process.pid}`);
  const id = await terminals.create({ command: "true" });
  await terminals.exited(id);
  return "began";
}

async function longLine(): Promise<string> {
  const heard: string[] = [];
  const lines = new Lines({
    line: (value) => heard.push(typeof value),
    noise: (text) => heard.push(text),
    refused: (reason) => heard.push(reason),
  });
  lines.push(Buffer.from(`${JSON.stringify("x".repeat(1_000_000))}\n`));
  await lines.end();
  return heard.join();
}

const refusal = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}` : String(error);

// What is loaded late is loaded now.
await harness();
await terminal();
await longLine();
const answers: object[] = [];
for (let spare = 0; spare <= 40; spare += spare < 12 ? 1 : 7) {
  fill();
  free(spare);
  const [one, other] = [await harness().catch(refusal), await terminal().catch(refusal)];
  answers.push({ spare, harness: one, terminal: other, line: await longLine() });
  free(held.length);
}
const last = { harness: await harness(), terminal: await terminal(), line: await longLine() };
console.log(JSON.stringify([...answers, last]));
