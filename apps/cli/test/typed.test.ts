// What a person is told to type, typed.

import { mkdir, readdir, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { quoted } from "../src/typed.ts";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { bin, Home, repository } from "./process.ts";

/** The line that begins like this, without what is explained behind it. */
function lineOf(stderr: string, start: string): string {
  const line = stderr.split("\n").find((it) => it.trim().startsWith(start));
  return (line ?? "").trim().replace(/ {3,}.*$/, "");
}

test("[K28] what init says comes next works for any name of a folder", async () => {
  await using home = await Home.make();
  for (const name of ["my agent ünï", "it's $HOME", "plain-1"]) {
    const { stderr } = await home.run(["init", name]);
    const line = lineOf(stderr, "lichen invoke");
    const script = line.replace(/^lichen/, '"$0" "$1"');
    const typed = await home.run(["-c", script, process.execPath, bin], { program: ["sh"] });
    expect({ line, code: typed.code }).toEqual({ line, code: 0 });
    expect(typed.stderr).toContain("roll_dice");
  }
  const one = await home.run(["init", "plain-2"]);
  expect(lineOf(one.stderr, "lichen start")).toBe("lichen start plain-2");
});

test("[K28] a command started by npm, or inside its own clone, is called so", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const npm = { env: { npm_command: "exec" } };
  const started = home.start(["start", dir, "--port", "0", "--state", home.path("a b")], npm);
  await started.until(({ stderr }) => /invoke .*\n/.exec(stderr) ?? undefined);
  expect(lineOf(started.stderr, "npx lichen")).toBe(
    `npx lichen invoke "What can you do?" ${dir} --state '${home.path("a b")}'`,
  );
  const here = home.start(["start", dir, "--port", "0"], { cwd: repository });
  await here.until(({ stderr }) => /invoke .*\n/.exec(stderr) ?? undefined);
  expect(lineOf(here.stderr, "npx lichen")).toMatch(/^npx lichen invoke/);
});

test("[K28] an id that could turn a line around is shown without that, and spelt out where it has to be typed", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, {
    "tools/note.ts": noteTool.replace("description:", "confirm: true,\n  description:"),
  });
  const id = "s\u202eevil";
  const call = { parts: [{ call: { name: "note", input: { text: "x" } } }] };
  await Provider.start(home, dir, { steps: [call, "Done."] });
  const asked = await home.run(["invoke", "go", dir, "--session", id]);
  expect(asked.stderr).toContain("session sevil waits for a person");
  const blocked = await home.run(["invoke", "go", dir, "--session", id]);
  expect(blocked.stderr).toContain("session sevil waits for a person");
  const list = await home.run(["approve", dir]);
  expect(list.stdout).toContain("session sevil, until");
  const none = await home.run(["approve", "apr_3wklk58v8jrz_13", dir]);
  expect(none.stderr).toContain(`approve ${dir}\` lists what waits`);
  const unknown = await home.run(["cancel", `${id}-2`, dir]);
  expect(unknown.stderr).toContain('no session "sevil-2"');
  for (const { stdout, stderr } of [asked, blocked, list, none, unknown])
    expect(stdout + stderr).not.toContain("\u202e");
  const typed = quoted(`it's ${id}`);
  expect(typed).toBe("$'it\\'s s\\u202eevil'");
  const env = { LC_ALL: "C.UTF-8" };
  const read = await home.run(["-c", `printf %s ${typed}`], { program: ["bash"], env });
  expect(read.stdout).toBe(`it's ${id}`);
});

test("[K7] an init where a file is in the way names that file, one where nothing can be made ends, and one in the current directory says so", async () => {
  await using home = await Home.make();
  await writeFile(home.path("file"), "");
  const refused = await home.run(["init", "file/x/y"]);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain(`${home.path("file")} is a file: `);
  const nowhere = await home.run(["init", "/proc/nope/x"]);
  expect(nowhere).toMatchObject({ code: 1, stdout: "" });
  expect(nowhere.stderr).toContain("/proc/nope/x");
  await mkdir(home.path("here"));
  const { code, stderr } = await home.run(["init"], { cwd: home.path("here") });
  expect(code).toBe(0);
  expect(stderr).toContain("ready in this directory. Next:");
  expect(await readdir(home.path("here"))).toContain("persona.md");
});
