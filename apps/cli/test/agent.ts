// Agents of the tests: a folder on disk, and a scripted provider process that it is pointed at.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Home, repository, type Running } from "./process.ts";

/** Writes an agent folder into the home; answers its path. */
export async function writeAgent(
  home: Home,
  files: Readonly<Record<string, string>> = {},
): Promise<string> {
  const dir = home.path("agent");
  const all = {
    "lichen.config.ts": `import { defineConfig } from "lichen";\nexport default defineConfig({ codingTools: false });\n`,
    "persona.md": "You answer in one sentence.\n",
    ...files,
  };
  for (const [path, text] of Object.entries(all)) {
    const target = join(dir, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text);
  }
  return dir;
}

export const noteTool = `
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { defineTool, z } from "lichen";
export default defineTool({
  description: "Writes a note down.",
  input: z.object({ text: z.string() }),
  execute({ text }, { cwd }) {
    appendFileSync(join(cwd, "notes.txt"), text + "\\n");
    return "noted " + text;
  },
});
`;

/** A provider of the tests' own as a process on loopback; it outlives the hosts that are killed. */
export class Provider {
  readonly url: string;
  readonly #requests: string;

  private constructor(url: string, requests: string) {
    this.url = url;
    this.#requests = requests;
  }

  /** Starts it with a script, and points the agent folder's models.json at it as `scripted/one`. */
  static async start(home: Home, dir: string, script: unknown): Promise<Provider> {
    const file = home.path("script.json");
    const requests = home.path("requests.jsonl");
    await writeFile(file, JSON.stringify(script));
    await writeFile(requests, "");
    const program = join(repository, "packages/engine/src/testing/provider-process.ts");
    const running: Running = home.start([file, "--requests", requests], {
      program: [process.execPath, program],
    });
    const { url } = JSON.parse(await running.firstLine()) as { url: string };
    const models = [{ id: "one" }];
    const scripted = { baseUrl: `${url}/v1`, api: "openai-completions", apiKey: "made-up", models };
    await writeFile(join(dir, "models.json"), JSON.stringify({ providers: { scripted } }));
    return new Provider(url, requests);
  }

  /** Settles once an answer waits at the gate. */
  async atGate(name: string): Promise<void> {
    await (await fetch(`${this.url}/gates/${name}`)).text();
  }

  async open(name: string): Promise<void> {
    await (await fetch(`${this.url}/gates/${name}`, { method: "POST" })).text();
  }

  async requests(): Promise<number> {
    return (await readFile(this.#requests, "utf8")).split("\n").filter(Boolean).length;
  }
}
