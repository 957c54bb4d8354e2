// A conversation that a person had with the real pi in a terminal, continued by a session of a machine.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { type ReceivedRequest, startScriptedProvider } from "@lichen/engine/testing";
import { expect, onTestFinished, test } from "vitest";
import { ownHarnesses } from "../src/index.ts";
import { processesOf } from "./processes.ts";
import { Rig } from "./rig.ts";

const bin = join(import.meta.dirname, "../../../test/harnesses/node_modules/.bin");
const told = "ended in the middle of this turn";

/** A home in which pi knows one model. */
function furnished(url: string): { root: string; home: string; work: string } {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "lichen-adopted-")));
  const home = join(root, "home");
  const [agent, work] = [join(home, ".pi", "agent"), join(home, "work")];
  for (const folder of [agent, work]) mkdirSync(folder, { recursive: true });
  const models = [{ id: "scripted-1", contextWindow: 100_000, maxTokens: 8_000 }];
  const provider = { baseUrl: url, api: "anthropic-messages", apiKey: "made-up-key", models };
  writeFileSync(join(agent, "models.json"), JSON.stringify({ providers: { scripted: provider } }));
  const settings = { defaultProvider: "scripted", defaultModel: "scripted-1" };
  writeFileSync(join(agent, "settings.json"), JSON.stringify(settings));
  return { root, home, work };
}

/** A host of the machine in a process of its own. */
async function hosted(root: string, env: Record<string, string>) {
  const program = join(import.meta.dirname, "real-host.ts");
  const child = spawn(process.execPath, [program, root, JSON.stringify(env)], {
    env: { PATH: env["PATH"] ?? "" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestFinished(kill);
  const [line = ""] = (await once(createInterface(child.stdout), "line")) as string[];
  const { url, token } = JSON.parse(line) as { url: string; token: string };
  const ask = async (path: string, json?: unknown): Promise<{ status: number; body: unknown }> => {
    const answer = await fetch(`${url}${path}`, {
      method: json === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? undefined : (JSON.parse(text) as unknown) };
  };
  return { ask, kill };
}

function texts({ messages }: ReceivedRequest): string[] {
  return messages.map(({ text }) => text);
}

test("[PI27] a conversation that pi had in a terminal goes on in its folder with its history, over its host's death, and with one session only", async () => {
  await using provider = Object.assign(
    await startScriptedProvider({
      rules: "none",
      script: (request) => {
        const last = texts(request).at(-1) ?? "";
        if (last.includes("colour is blue")) return "Noted.";
        if (last.includes("which colour")) return { parts: [{ text: "It is" }, { hang: true }] };
        return last.includes(told) ? "Blue." : "Still blue.";
      },
    }),
    { [Symbol.asyncDispose]: () => provider.close() },
  );
  const { root, home, work } = furnished(provider.url);
  const path = [bin, process.env["PATH"] ?? ""].join(delimiter);
  const env = { PATH: path, PI_OFFLINE: "1" };
  const terminal = spawn("pi", ["-p", "the colour is blue"], {
    cwd: work,
    env: { ...env, HOME: home },
    stdio: "ignore",
  });
  expect(await once(terminal, "exit")).toEqual([0, null]);

  const host = await hosted(root, env);
  const listed = (await host.ask("/v1/conversations")).body;
  expect(listed).toMatchObject({
    conversations: [{ harness: "pi", dir: work, last_user: "the colour is blue", adopted_by: "" }],
  });
  const [{ id }] = (listed as { conversations: [{ id: string }] }).conversations;
  const wish = { name: "p", harness: "pi", resume: id };
  expect(await host.ask("/v1/sessions", wish)).toMatchObject({
    status: 201,
    body: { name: "p", dir: work },
  });
  expect(await host.ask("/v1/sessions/p/messages", { text: "which colour?" })).toMatchObject({
    status: 202,
  });
  expect(texts(await provider.request(2))).toEqual([
    "the colour is blue",
    "Noted.",
    "which colour?",
  ]);
  await host.kill();

  await using rig = await Rig.open({ root, harnesses: ownHarnesses(), env });
  await rig.until("p", (it) => it.state === "idle");
  expect((await rig.info("p")).preview).toBe("Blue.");
  const resumed = texts(provider.requests.at(-1)!);
  expect(resumed.slice(0, 3)).toEqual(["the colour is blue", "Noted.", "which colour?"]);
  expect(resumed.filter((text) => text.includes("which colour"))).toHaveLength(1);
  await rig.send("p", "sure?");
  await rig.until("p", (it) => it.preview === "Still blue." && it.state === "idle");
  expect(provider.requests).toHaveLength(4);
  const { file = "" } = rig.machine.sessions.get("p").conversation ?? {};
  expect(processesOf((await rig.info("p")).id)).toHaveLength(1);
  expect(readdirSync(join(file, ".."))).toHaveLength(1);
  expect(await rig.tell("/v1/sessions", { json: { ...wish, name: "q" } })).toMatchObject({
    status: 400,
    body: { code: "conflict", error: expect.stringContaining("Session p") },
  });
  expect(rig.reports).toEqual([]);
});
