import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { Home } from "./process.ts";

test("[K7] init writes an agent folder and says what it wrote and what comes next", async () => {
  await using home = await Home.make();
  const { code, stdout, stderr } = await home.run(["init", "new/agent"]);
  expect(code).toBe(0);
  const written = await readdir(home.path("new", "agent"), { recursive: true });
  for (const path of ["persona.md", "lichen.config.ts", ".gitignore", "README.md"]) {
    expect(written).toContain(path);
    expect(stdout.split("\n")).toContain(`new/agent/${path}`);
  }
  expect(stdout).toMatch(/^new\/agent\/tools\/\w+\.ts$/m);
  expect(stdout).toMatch(/^new\/agent\/skills\/[\w-]+\/SKILL\.md$/m);
  expect(stderr).toContain("lichen start new/agent");
  expect(await readFile(home.path("new", "agent", ".gitignore"), "utf8")).toContain(".secrets");
});

test("[K7] init keeps every file that exists", async () => {
  await using home = await Home.make();
  await mkdir(home.path("mine"));
  await writeFile(home.path("mine", "README.md"), "mine\n");
  await writeFile(home.path("mine", "persona.md"), "mine\n");
  const { code, stdout, stderr } = await home.run(["init", "mine"]);
  expect(code).toBe(0);
  expect(stderr).toContain("kept mine/README.md");
  expect(stdout).not.toContain("README.md");
  expect(await readFile(home.path("mine", "README.md"), "utf8")).toBe("mine\n");
  expect(await readFile(home.path("mine", "persona.md"), "utf8")).toBe("mine\n");
});

test("[K7] init refuses a folder that is an agent, and writes nothing", async () => {
  await using home = await Home.make();
  await mkdir(home.path("agent"));
  await writeFile(home.path("agent", "lichen.config.mjs"), "export default {};\n");
  const { code, stdout, stderr } = await home.run(["init", "agent"]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("is an agent folder already");
  expect(await readdir(home.path("agent"))).toEqual(["lichen.config.mjs"]);
});

test("[K7] an init that fails takes back what it wrote", async () => {
  await using home = await Home.make();
  await mkdir(home.path("half"));
  await writeFile(home.path("half", "tools"), "a file where a folder must be\n");
  const { code, stdout, stderr } = await home.run(["init", "half"]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("taken back");
  expect(await readdir(home.path("half"))).toEqual(["tools"]);
});
