import { mkdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { expect, test } from "vitest";
import { Home, repository } from "./process.ts";

test("[K44] fish offers words with their summaries, values behind =, and folders", async () => {
  await using home = await Home.make();
  await mkdir(home.path("my agent"));
  const own = join(repository, "node_modules", ".bin");
  const env = {
    LICHEN_COMPLETION_MS: "20000",
    PATH: [own, process.env["PATH"] ?? ""].join(delimiter),
  };
  const offered = async (line: string) => {
    const script = "lichen completion fish | source; complete -C $argv[1]";
    const args = ["--no-config", "-c", script, line];
    const { code, stdout, stderr } = await home.run(args, { program: ["fish"], env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return stdout.split("\n").filter(Boolean);
  };
  expect(await offered("lichen sta")).toEqual(["start\tserve an agent folder"]);
  expect((await offered("lichen completion ")).map((line) => line.split("\t")[0])).toEqual([
    "bash",
    "fish",
    "zsh",
  ]);
  expect((await offered("lichen start my"))[0]).toMatch(/^my agent\//);
  expect((await offered("lichen start --state=my"))[0]).toMatch(/^--state=my agent\//);
  const model = "amazon-bedrock/anthropic.claude-haiku-4-5-20251001-v1:";
  expect((await offered(`lichen start --model=${model}`))[0]).toMatch(`--model=${model}0\t`);
});
