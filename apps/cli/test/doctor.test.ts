import { execFile } from "node:child_process";
import {
  chmod,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { acquireLease } from "@lichen/runtime/node";
import { expect, test } from "vitest";
import { Provider, writeAgent } from "./agent.ts";
import { StartedHost } from "./host.ts";
import { bin, Home, repository, type Settings } from "./process.ts";

// Many processes, on a computer that may be busy.
const slow = { timeout: 120_000 };

interface Checks {
  readonly ok: boolean;
  readonly checks: {
    readonly name: string;
    readonly level: "ok" | "note" | "fail";
    readonly text: string;
    readonly fix?: string;
  }[];
}

/** Every check by its name; of those with one name the last that is not ok. */
async function examine(home: Home, args: readonly string[], settings?: Settings) {
  const { code, stdout, stderr } = await home.run(["doctor", ...args, "--json"], settings);
  const { ok, checks } = JSON.parse(stdout) as Checks;
  expect({ code, stderr }).toEqual({ code: ok ? 0 : 1, stderr: "" });
  const of = (name: string) =>
    checks.findLast((check) => check.name === name && check.level !== "ok") ??
    checks.find((check) => check.name === name);
  return { ok, checks, of };
}

/** An agent that has talked, with no host; answers its folder and its state. */
async function talked(home: Home): Promise<{ dir: string; state: string }> {
  const dir = await writeAgent(home);
  const state = home.path("state");
  for (const session of ["one", "two"])
    expect(
      (await home.run(["invoke", "hello", dir, "--session", session, "--state", state])).code,
    ).toBe(0);
  return { dir, state };
}

/** A folder that no agent is in, whatever others leave among temporary files. */
async function nowhere(home: Home): Promise<string> {
  await mkdir(home.path("nowhere"), { recursive: true });
  return home.path("nowhere");
}

/** For copies: whose folders above hold no agent, whatever others leave among temporary files. */
class Apart implements AsyncDisposable {
  readonly #dir: string;

  private constructor(dir: string) {
    this.#dir = dir;
  }

  static async make(): Promise<Apart> {
    const parent = join(repository, "node_modules", ".cache");
    await mkdir(parent, { recursive: true });
    return new Apart(await mkdtemp(join(parent, "lichen-salvaged-")));
  }

  path(name: string): string {
    return join(this.#dir, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#dir, { recursive: true, force: true });
  }
}

async function damage(path: string, pages: readonly number[]): Promise<void> {
  const file = await open(path, "r+");
  for (const page of pages)
    await file.write(new Uint8Array(4_096).fill(page), 0, 4_096, (page - 1) * 4_096);
  await file.close();
}

test(
  "[K35] on a machine without any state, and away from every agent, doctor checks the rest, makes nothing and ends with 0",
  slow,
  async () => {
    await using home = await Home.make();
    const { code, stdout, stderr } = await home.run(["doctor"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const line of stdout.trimEnd().split("\n")) expect(line).toMatch(/^(ok   |note ) \S/);
    expect(stdout).toMatch(/^ok +node +Node \d+\.\d+/m);
    expect(stdout).toMatch(/^ok +own node +Node 24/m);
    expect(stdout).toMatch(/^note +folder +there is no agent folder here/m);
    expect(stdout).toMatch(/^note +state +there is none yet/m);
    expect(stdout).toMatch(/^note +credentials +no key and no login/m);
    expect(stdout).toMatch(/^(ok|note) +sandbox +\S/m);
    expect(stdout).toMatch(/^(ok|note) +port +7387 /m);
    expect(await readdir(home.dir)).toEqual([]);
    const { of } = await examine(home, [home.path("nowhere")]);
    expect(of("folder")).toMatchObject({ level: "fail" });
  },
);

test("[K35] doctor looks at an agent that runs and disturbs nothing", slow, async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: [] });
  const before = await readdir(dir);
  expect((await examine(home, [dir])).of("state")?.level).toBe("note");
  expect(await readdir(dir)).toEqual(before);
  const host = await StartedHost.start(home, dir);
  const { ok, of } = await examine(home, [dir], { env: { GROQ_API_KEY: "made-up-secret" } });
  expect(ok).toBe(true);
  expect(of("folder")).toMatchObject({ level: "ok", text: expect.stringContaining(dir) as string });
  expect(of("host")?.text).toContain(`process ${host.running.child.pid} at ${host.url}`);
  expect(of("store")).toMatchObject({
    level: "ok",
    text: expect.stringMatching(/^sound: schema 4, 0 sessions/) as string,
  });
  expect(of("token")).toMatchObject({ level: "ok" });
  expect(of("model")).toMatchObject({
    level: "ok",
    text: expect.stringContaining("scripted/one") as string,
  });
  expect(of("credentials")?.text).toContain("groq (GROQ_API_KEY)");
  expect(JSON.stringify([of("credentials"), of("model")])).not.toContain("made-up");
  expect((await host.ask("/agents")).status).toBe(200);
  const said = await home.run(["invoke", "hello", dir, "--model", "demo"]);
  expect(said.code).toBe(0);
});

test(
  "[K36] what does not work is a fail with the way to mend it: the folder, the token, host.json, the port, rights",
  slow,
  async () => {
    await using home = await Home.make();
    const { dir, state } = await talked(home);
    await mkdir(join(dir, "tools"));
    await writeFile(join(dir, "tools", "broken.ts"), "export default 7;");
    const stranger = createServer((_request, response) => response.end("{}"));
    await new Promise<void>((resolve) => void stranger.listen(0, "127.0.0.1", resolve));
    const { port } = stranger.address() as AddressInfo;
    await writeFile(
      join(dir, "lichen.config.ts"),
      `import { defineConfig } from "lichen";\nexport default defineConfig({ codingTools: false, http: { port: ${port} } });\n`,
    );
    try {
      await chmod(state, 0o755);
      await writeFile(join(state, "token"), "a".repeat(40), { mode: 0o644 });
      await chmod(join(state, "token"), 0o644);
      await writeFile(
        join(state, "host.json"),
        JSON.stringify({ url: `http://127.0.0.1:${port}`, pid: process.pid }),
      );
      const { ok, of, checks } = await examine(home, [dir, "--state", state]);
      expect(ok).toBe(false);
      expect(
        checks.some(({ name, text }) => name === "folder" && text.includes("tools/broken.ts")),
      ).toBe(true);
      expect(of("state")).toMatchObject({ level: "fail", fix: `chmod 700 ${state}` });
      expect(of("token")).toMatchObject({
        level: "fail",
        fix: expect.stringContaining("chmod 600") as string,
      });
      expect(of("host")).toMatchObject({
        level: "fail",
        text: expect.stringContaining(`127.0.0.1:${port}`) as string,
      });
      expect(of("port")).toMatchObject({
        level: "note",
        text: expect.stringContaining(`${port} is taken by`) as string,
      });
    } finally {
      stranger.close();
    }
    await rm(join(state, "token"));
    const gone = home.start(["--version"]);
    await gone.ended;
    await writeFile(
      join(state, "host.json"),
      JSON.stringify({ url: "http://127.0.0.1:9", pid: gone.child.pid }),
    );
    expect((await examine(home, [dir, "--state", state])).of("host")).toMatchObject({
      level: "fail",
    });
    await writeFile(join(state, "token"), "a".repeat(40), { mode: 0o600 });
    await writeFile(join(dir, "models.json"), "{");
    const last = await examine(home, [dir, "--state", state]);
    expect(last.of("folder")).toMatchObject({
      level: "fail",
      fix: expect.stringContaining("models.json") as string,
    });
    expect(last.of("host")).toMatchObject({
      level: "note",
      text: expect.stringContaining("is gone") as string,
    });
  },
);

test(
  "[K36] a damaged store, a newer one, and credentials that cannot be read fail with what to do",
  slow,
  async () => {
    await using home = await Home.make();
    const { dir, state } = await talked(home);
    await writeFile(home.path("file"), "");
    expect((await examine(home, ["--state", home.path("file")])).of("state")).toMatchObject({
      level: "fail",
    });
    const store = join(state, "host.db");
    const db = new DatabaseSync(store);
    db.exec("update meta set value = '9'");
    db.close();
    expect((await examine(home, [dir, "--state", state])).of("store")).toMatchObject({
      level: "fail",
      fix: expect.stringContaining("update Lichen") as string,
    });
    await damage(store, [3, 4]);
    expect((await examine(home, ["--state", state])).of("store")).toMatchObject({
      level: "fail",
      fix: expect.stringContaining(`doctor --state ${state} --salvage`) as string,
    });
    await mkdir(home.path(".local", "share", "lichen"), { recursive: true });
    await writeFile(home.path(".local", "share", "lichen", "credentials.json"), "{");
    expect((await examine(home, [])).of("credentials")).toMatchObject({ level: "fail" });
  },
);

test(
  "[K37] start on a damaged store names the way out, and doctor --salvage copies what a start then goes on with",
  slow,
  async () => {
    await using apart = await Apart.make();
    await using home = await Home.make();
    const { dir, state } = await talked(home);
    const store = join(state, "host.db");
    await damage(store, [1]);
    const before = await readFile(store);
    const refused = await home.run(["start", dir, "--state", state, "--port", "0"]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain(`doctor --state ${state} --salvage <new folder>`);
    const to = apart.path("salvaged");
    const { code, stdout, stderr } = await home.run(["doctor", "--state", state, "--salvage", to], {
      cwd: await nowhere(home),
    });
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining("2 sessions") as string,
    });
    expect(stdout).toMatch(/^whole \S+\/one: 5 entries kept\nwhole \S+\/two: 5 entries kept\n$/);
    expect(stderr).toContain(`start --state ${to}`);
    expect(await readFile(store)).toEqual(before);
    expect((await stat(to)).mode & 0o777).toBe(0o700);
    const host = await StartedHost.start(home, dir, ["--state", to]);
    expect((await host.entries("two")).map(({ kind }) => kind)).toContain("run.settled");
    expect((await host.entries("one")).length).toBe(5);
    const next = await home.run(["invoke", "again", dir, "--session", "one", "--state", to]);
    expect(next.code).toBe(0);
  },
);

test(
  "[K37] a part of a conversation is kept up to what cannot be read, and the report says what is lost",
  slow,
  async () => {
    await using apart = await Apart.make();
    await using home = await Home.make();
    const { dir, state } = await talked(home);
    const db = new DatabaseSync(join(state, "host.db"));
    db.exec(
      "update entry set data = '{' where eid % 1073741824 = 4 and eid < 2 * 1073741824; pragma wal_checkpoint(TRUNCATE)",
    );
    db.close();
    const to = apart.path("salvaged");
    const { code, stdout } = await home.run([
      "doctor",
      dir,
      "--state",
      state,
      "--salvage",
      to,
      "--json",
    ]);
    expect(code).toBe(0);
    const report = JSON.parse(stdout) as { state: string; sessions: object[] };
    expect(report.state).toBe(to);
    expect(report.sessions).toMatchObject([
      { session: "one", kept: 3, lost: 2, leftOut: 1, ended: 1 },
      { session: "two", kept: 5, lost: 0, ended: 0 },
    ]);
    const host = await StartedHost.start(home, dir, ["--state", to]);
    const entries = await host.entries("one");
    expect(entries.at(-2)).toMatchObject({
      kind: "run.settled",
      data: { terminal: "outcome_unknown" },
    });
    expect(entries.at(-1)).toMatchObject({ kind: "line" });
  },
);

test(
  "[K37] a state that is served, a target that holds something, and one inside the agent are refused",
  slow,
  async () => {
    await using apart = await Apart.make();
    await using home = await Home.make();
    const dir = await writeAgent(home);
    const host = await StartedHost.start(home, dir, ["--state", apart.path("state")]);
    const salvage = (to: string) =>
      home.run(["doctor", dir, "--state", apart.path("state"), "--salvage", to]);
    const served = await salvage(apart.path("new"));
    expect(served).toMatchObject({ code: 1, stdout: "" });
    expect(served.stderr).toContain(`Process ${host.running.child.pid} serves this state`);
    expect(await host.running.stop()).toBe(0);
    expect((await salvage(apart.path("state"))).stderr).toContain("not empty");
    expect((await salvage(join(dir, "new"))).stderr).toContain("name a folder outside");
    expect(
      await home.run(["doctor", "--salvage", apart.path("new2")], { cwd: await nowhere(home) }),
    ).toMatchObject({
      code: 1,
      stdout: "",
    });
    expect((await salvage(apart.path("new"))).code).toBe(0);
  },
);

/** Root may read and write all there is, unless it gives that up. */
const asUser = {
  program: [
    ...(process.getuid?.() === 0
      ? (["setpriv", "--bounding-set=-dac_override,-dac_read_search"] as const)
      : []),
    process.execPath,
    bin,
  ] as unknown as [string, ...string[]],
};

test(
  "[K36] a store that may not be written, one that is no file, and a state that may not be read are a fail",
  slow,
  async () => {
    await using home = await Home.make();
    const { dir, state } = await talked(home);
    const store = join(state, "host.db");
    await chmod(store, 0o400);
    const readOnly = await examine(home, [dir, "--state", state], asUser);
    expect(readOnly.of("store")).toMatchObject({
      level: "fail",
      text: expect.stringContaining("may not write host.db") as string,
    });
    expect(readOnly.ok).toBe(false);
    await chmod(store, 0o600);
    expect((await examine(home, [dir, "--state", state], asUser)).of("store")?.level).toBe("ok");

    await chmod(state, 0o000);
    const closed = await examine(home, [dir, "--state", state], asUser);
    await chmod(state, 0o700);
    for (const name of ["state", "store", "token"])
      expect(closed.of(name)).toMatchObject({ level: "fail" });

    await rm(store);
    await promisify(execFile)("mkfifo", [store]);
    const pipe = await examine(home, [dir, "--state", state]);
    expect(pipe.of("store")).toMatchObject({
      level: "fail",
      text: expect.stringContaining("no file") as string,
    });
    const began = performance.now();
    const refused = await home.run(["sessions", dir, "--state", state]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).not.toMatch(/another process|disk/);
    expect(performance.now() - began).toBeLessThan(9_000);
    await promisify(execFile)("mkfifo", [join(state, "token")]);
    expect((await examine(home, [dir, "--state", state])).of("token")).toMatchObject({
      level: "fail",
    });
  },
);

test(
  "[K37] a store of which no conversation is left ends with 1, and a copy inside any agent is refused",
  slow,
  async () => {
    await using apart = await Apart.make();
    await using home = await Home.make();
    const { dir, state } = await talked(home);
    const inside = await home.run(
      ["doctor", "--state", state, "--salvage", join(dir, "deep", "copy")],
      { cwd: await nowhere(home) },
    );
    expect(inside).toMatchObject({ code: 1, stdout: "" });
    expect(inside.stderr).toContain("name a folder outside");
    const to = apart.path("copy");
    const copied = await home.run(["doctor", dir, "--state", state, "--salvage", to]);
    expect(copied.code).toBe(0);
    expect(copied.stderr).toContain(`Keep ${state} and ${to} where no agent works`);

    const store = join(state, "host.db");
    const pages = (await stat(store)).size / 4_096;
    const db = new DatabaseSync(store);
    db.exec("delete from session; delete from entry; vacuum; pragma wal_checkpoint(TRUNCATE)");
    db.close();
    expect(pages).toBeGreaterThan(3);
    await damage(store, [3]);
    for (const more of [[], ["--json"]]) {
      const args = ["doctor", dir, "--state", state, "--salvage", apart.path("nothing"), ...more];
      const { code, stdout, stderr } = await home.run(args);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toContain("restore a backup");
      expect(stderr).not.toContain("Go on with it");
    }
  },
);

test("[K37] a start in the target of a salvage that is under way is refused", slow, async () => {
  await using apart = await Apart.make();
  await using home = await Home.make();
  const { dir, state } = await talked(home);
  const to = apart.path("race");
  const lease = await acquireLease(join(to, "host.db"));
  const salvage = ["doctor", dir, "--state", state, "--salvage", to];
  const refused = await home.run(salvage);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain("in use by another process");
  lease.release();
  expect((await home.run(salvage)).code).toBe(0);
  const next = await home.run(["invoke", "again", dir, "--session", "one", "--state", to]);
  expect(next.code).toBe(0);
});
