// An agent of the Agent Client Protocol behind a machine: the small one of the engine's tests, in a process of its own.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ownHarnesses } from "../src/index.ts";
import { openWall } from "../src/access/index.ts";
import { AccessRig } from "./access/rig.ts";
import { Rig } from "./rig.ts";

const program = join(import.meta.dirname, "../../engine/test/acp/agent.ts");

test("[MA36] an agent of the Agent Client Protocol is asked and allowed under the id that its event shows", async () => {
  await using rig = await Rig.open({ harnesses: ownHarnesses() });
  const command = [process.execPath, program, join(rig.root, "agent-state")];
  await rig.make("a", { harness: "acp", command });
  await using reader = await rig.events("a");
  await rig.send("a", "say first\npermit edit the file");
  const events = await reader.upTo(({ data }) => data["type"] === "control_request");
  const asked = events.at(-1);
  const prompt = String(asked?.data["request_id"]);
  expect(prompt).toMatch(/^acp-\d+-.+/);
  await rig.until("a", (it) => it.state === "waiting");
  expect(
    (
      await rig.tell(`/v1/sessions/a/prompts/${encodeURIComponent(prompt)}`, {
        json: { allow: true },
      })
    ).status,
  ).toBe(204);
  const rest = await reader.upTo(({ data }) => data["type"] === "result");
  expect(rest.find(({ kind }) => kind === "answer")?.data).toMatchObject({ prompt, allow: true });
  const info = await rig.until("a", (it) => it.state === "idle" && it.turns === 1);
  expect(info).toMatchObject({ preview: "did the file", caps: { approve: true, takeover: false } });
  expect(rig.reports).toEqual([]);
});

test("[MA42] of what an agent asks only that is shown as a prompt which somebody is asked", async () => {
  await using rig = await Rig.open({ harnesses: ownHarnesses() });
  const command = [process.execPath, program, join(rig.root, "agent-state")];
  await rig.make("a", { harness: "acp", command, auto_approve: true });
  await using reader = await rig.events("a");
  await rig.send("a", "visit http://example.invalid/\nmisask it\npermit edit the file");
  const events = await reader.upTo(({ data }) => data["type"] === "result");
  const shown = events.filter(({ data }) => data["type"] === "control_request");
  expect(shown).toHaveLength(1);
  const answers = events.filter(({ kind }) => kind === "answer");
  expect(answers).toMatchObject([
    { by: "auto-approve", data: { prompt: shown[0]?.data["request_id"], allow: true } },
  ]);
});

test("[MA44] a model that the agent cannot be set to is refused, also for a session that is made, and nothing is left", async () => {
  await using rig = await Rig.open({ harnesses: ownHarnesses() });
  const command = [process.execPath, program, join(rig.root, "agent-state")];
  const made = (name: string, model: string, ...flags: string[]) =>
    rig.tell("/v1/sessions", {
      json: { name, dir: `~/${name}`, harness: "acp", command: [...command, ...flags], model },
    });
  expect(await made("none", "m")).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining("no choice of models") },
  });
  expect(await made("other", "m", "--models")).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining("small/one, large/two") },
  });
  expect(await rig.list()).toEqual([]);
  const journal = readFileSync(join(rig.root, "agent-state", "journal.jsonl"), "utf8");
  for (const [, pid] of journal.matchAll(/"began":(\d+)/g))
    expect(() => process.kill(Number(pid), 0)).toThrow("ESRCH");
  expect((await made("able", "large/two", "--models")).status).toBe(201);
  await rig.send("able", "model");
  const info = await rig.until("able", (it) => it.state === "idle" && it.preview === "large/two");
  expect(info.model).toBe("large/two");
  await rig.make("plain", { harness: "acp", command });
  const changed = await rig.tell("/v1/sessions/plain", { method: "PATCH", json: { model: "m" } });
  expect(changed).toMatchObject({
    status: 409,
    body: { error: expect.stringContaining("no choice of models") },
  });
  await rig.send("plain", "fine");
  await rig.until("plain", (it) => it.state === "idle" && it.preview === "fine");
});

test("[MA44] a model of null is the harness's own, and an empty name is none", async () => {
  await using rig = await Rig.open({ harnesses: ownHarnesses() });
  const command = [process.execPath, program, join(rig.root, "agent-state"), "--models"];
  await rig.make("a", { harness: "acp", command, model: "large/two" });
  const change = (model: unknown) =>
    rig.tell("/v1/sessions/a", { method: "PATCH", json: { model } });
  expect((await change("")).status).toBe(400);
  expect(await change(null)).toMatchObject({ status: 200, body: { model: "" } });
  await rig.send("a", "model");
  const info = await rig.until("a", (it) => it.state === "idle" && it.preview === "small/one");
  expect(info.model).toBe("small/one");
});

test("[AC25] what an agent's client does in its place keeps to what the machine hides and guards, whether a wall stands or not", async () => {
  await using rig = await AccessRig.open();
  const { sockets } = rig.access;
  const hide = [join(rig.root, "compiled")];
  const places = { env: {}, home: rig.root };
  writeFileSync(join(rig.root, ".profile"), "");
  const wall = await openWall({ mode: "off", mask: [rig.stateDir], hide, sockets, places });
  const around = wall.around({ id: "a", dir: rig.root });
  expect(around.hidden?.()).toEqual([rig.stateDir, sockets.folder, ...hide]);
  expect(around.readOnly?.()).toContain(join(rig.root, ".profile"));
});
