import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { processInfo } from "../../src/harness/host/processes.ts";
import { until } from "../../../runtime/test/clock.ts";
import { Rig, type RigOptions } from "./rig.ts";

const open: Rig[] = [];
afterEach(async () => {
  for (const rig of open.splice(0)) await rig.close();
});

async function start(options: RigOptions = {}): Promise<Rig> {
  const rig = await Rig.start(options);
  open.push(rig);
  return rig;
}

async function told(rig: Rig, ...lines: string[]): Promise<string> {
  return (await rig.prompt(...lines)).answer;
}

test("[AC9] files of the directory are read and written, whole or some lines of them", async () => {
  const rig = await start();
  const path = join(rig.dir, "deep/er/a.txt");
  expect(await told(rig, `write ${path} one word`)).toBe("written");
  expect(await readFile(path, "utf8")).toBe("one word");
  await writeFile(path, "1\n2\n3\n4\n");
  await chmod(path, 0o666);
  expect(await told(rig, `lines ${path} 2 2`)).toBe("2\n3");
  expect(await told(rig, "write deep/er/a.txt new")).toBe("written");
  expect(await told(rig, `read ${path}`)).toBe("new");
  expect((await stat(path)).mode & 0o777).toBe(0o666);
  expect(await told(rig, `read ${rig.dir}/none.txt`)).toMatch(/^refused: .*does not exist/);
});

test("[AC33] what is asked under the name of another session is refused, and changes nothing", async () => {
  const rig = await start();
  await writeFile(join(rig.dir, "a.txt"), "mine");
  for (const asked of [
    "read a.txt",
    "write a.txt theirs",
    "run touch made.txt",
    "permit execute tests",
    "elicit Who is it?",
  ])
    expect(await told(rig, `foreign ${asked}`)).toMatch(/^refused: .*elsewhere is not the session/);
  expect(await readFile(join(rig.dir, "a.txt"), "utf8")).toBe("mine");
  expect(existsSync(join(rig.dir, "made.txt"))).toBe(false);
  expect(await rig.data("approval.asked")).toEqual([]);
  expect(await told(rig, "read a.txt")).toBe("mine");
});

test("[AC9] nothing outside the directory is reached, by no name", async () => {
  const rig = await start();
  const secret = join(rig.folder, "secret.txt");
  await writeFile(secret, "secret");
  await symlink(rig.folder, join(rig.dir, "up"));
  await symlink(secret, join(rig.dir, "link.txt"));
  await symlink(join(rig.folder, "new.txt"), join(rig.dir, "dangling.txt"));
  for (const path of [secret, "../secret.txt", "up/secret.txt", "link.txt", "/etc/hostname"]) {
    expect(await told(rig, `read ${path}`)).toMatch(/^refused: .*agent's directory/);
    expect(await told(rig, `write ${path} mine`)).toMatch(/^refused: .*agent's directory/);
  }
  expect(await told(rig, "write up/made/a.txt mine")).toMatch(/^refused: /);
  await told(rig, "write dangling.txt mine");
  expect(await readFile(secret, "utf8")).toBe("secret");
  expect(existsSync(join(rig.folder, "made"))).toBe(false);
  expect(existsSync(join(rig.folder, "new.txt"))).toBe(false);
});

test("[AC25] an agent is refused what its wall hides and what it keeps read-only, as the wall says it at that moment", async () => {
  const kept: string[] = [];
  const behind = (argv: readonly string[]) => ({ argv, release: () => {} });
  const wall = Object.assign(behind, {
    hidden: () => [join(rig.dir, "state")],
    readOnly: () => kept,
  });
  const rig = await start({ wall });
  await mkdir(join(rig.dir, "state"));
  await writeFile(join(rig.dir, "state/token"), "secret");
  expect(await told(rig, "read state/token")).toMatch(/^refused: .*closed to tools/);
  expect(await told(rig, "write state/token mine")).toMatch(/^refused: .*closed to tools/);
  expect(await told(rig, "elsewhere state")).toMatch(/^refused: .*closed to tools/);
  expect(await told(rig, "write code.ts mine")).toBe("written");
  kept.push(join(rig.dir, "code.ts"));
  expect(await told(rig, "write code.ts yours")).toMatch(/^refused: /);
  expect(await told(rig, "read code.ts")).toBe("mine");
});

test("[AC10] a terminal runs a command in the directory and tells its output and its end", async () => {
  const rig = await start();
  const ran = JSON.parse(await told(rig, "run sh -c echo\t$GREETING")) as object;
  expect(ran).toMatchObject({ exitCode: 0, output: "hello\n", truncated: false });
  expect(JSON.parse(await told(rig, "run pwd"))).toMatchObject({ output: `${rig.dir}\n` });
  expect(JSON.parse(await told(rig, "run false"))).toMatchObject({ exitCode: 1 });
  expect(await told(rig, "run no-such-program-here")).toMatch(/^refused: .*could not be started/);
  expect(JSON.parse(await told(rig, "kill sleep 600"))).toEqual({
    exitCode: null,
    signal: "SIGKILL",
  });
  await mkdir(join(rig.dir, "sub"));
  expect(await told(rig, "elsewhere sub")).toBe(`${rig.dir}/sub\n`);
  expect(await told(rig, "elsewhere ..")).toMatch(/^refused: .*agent's directory/);
});

test("[AC10] what a command leaves in the background ends with it", async () => {
  const rig = await start();
  await writeFile(join(rig.dir, "leave.sh"), "sleep 600 & echo $!\n");
  const { output, exitCode } = JSON.parse(await told(rig, "run sh leave.sh")) as {
    output: string;
    exitCode: number;
  };
  expect(exitCode).toBe(0);
  const left = async () => (await processInfo(Number(output)))?.isDead ?? true;
  await until(left, "the end of what was left");
});

test("[AC10] the end of a command waits for no child that left its group with its output", async () => {
  const rig = await start();
  await writeFile(join(rig.dir, "leave.sh"), "setsid sleep 600 & echo $!; exit 3\n");
  const began = performance.now();
  const said = JSON.parse(await told(rig, "run sh leave.sh")) as { output: string };
  expect(performance.now() - began).toBeLessThan(8_000);
  expect(said).toMatchObject({ exitCode: 3, output: expect.stringMatching(/^\d+\n$/) });
  await rig.engine.restart();
  const left = async () => (await processInfo(Number(said.output)))?.isDead ?? true;
  await until(left, "its end with the agent's process");
});

test("[AC26] variables that the agent names are its command's and never those of what builds the wall", async () => {
  const walls: (readonly string[])[] = [];
  const rig = await start({
    wall: (argv) => {
      walls.push(argv);
      const builds = 'printenv GREETING LD_PRELOAD; exec "$@"';
      return { argv: ["sh", "-c", builds, "sh", ...argv], release: () => {} };
    },
  });
  expect(JSON.parse(await told(rig, "run printenv GREETING"))).toMatchObject({ output: "hello\n" });
  expect(JSON.parse(await told(rig, "run sh -c env\t|\tgrep\t^LICHEN"))).toMatchObject({
    output: expect.stringMatching(/^LICHEN_HARNESS=[^=]+\n$/),
  });
  expect(JSON.stringify(walls)).not.toContain("hello");
});

test("[AC10] of an output the last bytes are kept, whole characters of them", async () => {
  const rig = await start();
  const said = JSON.parse(await told(rig, "limited 5 printf äöü€")) as { output: string };
  expect(said).toMatchObject({ output: "ü€", truncated: true });
});

test("[AC10] a terminal stands behind the wall and is ended with the agent's process", async () => {
  const walled: string[][] = [];
  let released = 0;
  const rig = await start({
    wall: (argv) => {
      walled.push([...argv]);
      return { argv: ["env", "WALL=1", ...argv], release: () => void released++ };
    },
  });
  expect(JSON.parse(await told(rig, "run printenv WALL LICHEN_HARNESS"))).toMatchObject({
    output: expect.stringMatching(/^1\n\S+\n$/),
  });
  await told(rig, "background sleep 600");
  const { pid } = (await rig.noted("terminal")) as { pid: number };
  expect(await processInfo(pid)).toBeDefined();
  await rig.engine.restart();
  await until(async () => (await processInfo(pid))?.isDead ?? true, "the terminal's end");
  expect(walled.some((argv) => argv.includes("printenv"))).toBe(true);
  expect(released).toBe(3);
});

test("[AC11] what is unknown is answered, kept or left out, and nothing is said twice", async () => {
  const rig = await start();
  expect(await told(rig, "unknown")).toMatch(/^refused: .*test\/strange/);
  expect(await told(rig, "strange", "babble", "echo words", "plan a|b", "say fine")).toBe("fine");
  expect(await rig.updates()).toEqual([
    "agent_message_chunk",
    "strange",
    "plan",
    "agent_message_chunk",
  ]);
  expect(await rig.data("message.user")).toHaveLength(2);
  expect(rig.reported.map(String)).toEqual([expect.stringContaining("not JSON")]);
});
