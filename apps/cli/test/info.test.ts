import { expect, test } from "vitest";
import { noteTool, writeAgent } from "./agent.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";

test("[K19] info reports what the folder holds and what is wrong with it, for people and for programs", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, {
    "tools/note.ts": noteTool,
    "tools/broken.ts": "export default {};\n",
    "skills/brewing/SKILL.md": "---\nname: brewing\ndescription: How to brew.\n---\nHot.\n",
  });
  const text = await home.run(["info", dir]);
  expect(text.code).toBe(0);
  expect(text.stdout).toMatch(/^tools +note \(write\)$/m);
  expect(text.stdout).toMatch(/^skills +brewing$/m);
  expect(text.stdout).toMatch(/^model +lichen\/demo/m);
  expect(text.stdout).toMatch(/^host +none runs$/m);
  expect(text.stderr).toMatch(/tools\/broken\.ts: /);
  const json = await home.run(["info", dir, "--json"]);
  expect(JSON.parse(json.stdout)).toMatchObject({
    folder: dir,
    tools: [{ name: "note", label: "write", asksFirst: false }],
    skills: [{ name: "brewing" }],
    diagnostics: [{ file: "tools/broken.ts" }, {}],
  });
});

test("[K19] info says which host serves the folder, and that a model it cannot have is no obstacle", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const host = await StartedHost.start(home, dir);
  const { code, stdout } = await home.run(["info", dir, "--json", "--model", "nobody/knows"]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ url: host.url, model: { state: "unknown" } });
});

test("[K20] models lists provider/id, one a line, those of the folder's models.json too", async () => {
  await using home = await Home.make();
  const models = {
    providers: {
      mine: {
        baseUrl: "http://127.0.0.1:1/v1",
        api: "openai-completions",
        apiKey: "k",
        models: [{ id: "one" }],
      },
    },
  };
  const dir = await writeAgent(home, { "models.json": JSON.stringify(models) });
  const mine = await home.run(["models", "mine/"], { cwd: dir });
  expect(mine).toMatchObject({ code: 0, stdout: "mine/one\n" });
  const { stdout } = await home.run(["models", "sonnet"]);
  expect(stdout).toMatch(/^anthropic\/claude-sonnet-\S+$/m);
  for (const line of stdout.trimEnd().split("\n")) expect(line).toMatch(/^[^/\s]+\/\S+$/);
  const none = await home.run(["models", "no-such-model"]);
  expect(none).toMatchObject({ code: 1, stdout: "" });
});
