// A host among faults that are not its own: those that an agent's tools leave behind, and those of the disk.

import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { openHost } from "@lichen/server/node";
import { expect, test } from "vitest";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";

const run = promisify(execFile);

function tool(body: string): string {
  return noteTool.replace(/appendFileSync\(join[^;]*;/, body);
}

const callsNote = { parts: [{ call: { name: "note", input: { text: "hello" } } }] };

/** What a tool can leave behind it that nobody awaits. */
const leftBehind = {
  "a floating rejection": `void Promise.reject(new Error("left behind"));`,
  "a rejection with no error": `void Promise.reject();`,
  "a throw out of a timer": `setTimeout(() => { throw new Error("left behind"); }, 1);`,
  "a throw of what is no error": `setTimeout(() => { throw null; }, 1);`,
  "a throw of what throws when it is looked at": `setTimeout(() => { throw new Proxy({}, { getPrototypeOf() { throw 1; } }); }, 1);`,
  "an error event nobody listens to": `process.nextTick(() => new EventEmitter().emit("error", new Error("left behind")));`,
  "a connection that is refused": `connect(1, "127.0.0.1");`,
};

test.for(Object.entries(leftBehind))(
  "[K22] %s of a tool is logged with its session, and the host goes on",
  async ([, body]) => {
    await using home = await Home.make();
    const imports = `import { connect } from "node:net";\nimport { EventEmitter } from "node:events";\n`;
    const dir = await writeAgent(home, { "tools/note.ts": imports + tool(body) });
    await Provider.start(home, dir, { steps: [callsNote, "Done.", "Still here."] });
    const host = await StartedHost.start(home, dir);
    const first = await home.run(["invoke", "go", dir, "--session", "s1"]);
    expect(first).toMatchObject({ code: 0, stdout: "Done.\n" });
    await host.running.until(({ stderr }) => /session s1/.exec(stderr) ?? undefined);
    const second = await home.run(["invoke", "go", dir, "--session", "s2"]);
    expect(second).toMatchObject({ code: 0, stdout: "Still here.\n" });
    expect(await host.running.stop()).toBe(0);
  },
);

test("[K22] an invoke without a host outlives it too", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, {
    "tools/note.ts": tool(`void Promise.reject(new Error("left behind"));`),
  });
  await Provider.start(home, dir, { steps: [callsNote, "Done."] });
  const { code, stdout, stderr } = await home.run(["invoke", "go", dir, "--session", "s1"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "Done.\n" });
  expect(stderr).toMatch(/session s1.*left behind/);
});

test("[K23] a full disk refuses what does not fit, and the host goes on once there is space", async ({
  skip,
}) => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const disk = home.path("disk");
  await mkdir(disk);
  const options = ["-t", "tmpfs", "-o", "size=3m,mode=700", "tmpfs", disk];
  const isMounted = await run("mount", options).then(
    () => true,
    () => false,
  );
  if (!isMounted) return skip("this user may not mount a small disk");
  try {
    await Provider.start(home, dir, { steps: [], then: "Kept." });
    const host = await StartedHost.start(home, dir, ["--state", home.path("disk", "state")]);
    const path = `/agents/${await host.agent()}/sessions/s/commands`;
    const send = async (requestId: string, text: string): Promise<number> =>
      (await host.ask(path, { type: "prompt", requestId, text })).status;
    const statuses: number[] = [];
    for (let index = 0; index < 6; index++) {
      statuses.push(await send(`r${index}`, String(index).repeat(800_000)));
    }
    expect(statuses[0]).toBe(202);
    expect(statuses.at(-1)).toBe(503);
    expect((await host.ask("/agents")).status).toBe(200);
    await run("mount", ["-o", "remount,size=64m", disk]);
    const said = await home.run(["invoke", "again", dir, "--state", home.path("disk", "state")]);
    expect(said).toMatchObject({ code: 0, stdout: "Kept.\n" });
    expect(host.running.stderr).not.toMatch(/^\s+at /m);
    expect(await host.running.stop()).toBe(0);
  } finally {
    await run("umount", ["-l", disk]);
  }
});

test("[K23] a sync that fails is told as the end of the host, and is no ordinary fault", async () => {
  await using home = await Home.make();
  // What this process loads itself finds no package from there.
  const config = "export default { codingTools: false };\n";
  const dir = await writeAgent(home, { "lichen.config.ts": config });
  const reported: unknown[] = [];
  const lost: unknown[] = [];
  const failure = new Error("the disk is gone");
  let isGone = false;
  const host = await openHost({
    dir,
    state: home.path("state"),
    env: () => undefined,
    report: (error) => reported.push(error),
    lost: (error) => lost.push(error),
    around: {
      sql: (sql) => ({ ...sql, durable: () => (isGone ? Promise.reject(failure) : sql.durable()) }),
    },
  });
  isGone = true;
  const sent = host.agent.session("s").send({ type: "prompt", requestId: "r", text: "hello" });
  await expect(sent).rejects.toBe(failure);
  expect(lost).toEqual([failure]);
  expect(reported).toEqual([]);
  await host.close({ patienceMs: 0 }).catch(() => undefined);
});

test("[K25] what the computer refuses is one sentence that says what to do, and no bug", async ({
  skip,
}) => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await writeFile(home.path("file"), "");
  const odd = [
    "odd-token/token",
    "odd-host/host.json",
    "odd-store/host.db",
    "odd-lease/host.db-lease",
  ];
  for (const path of odd) await mkdir(home.path(path), { recursive: true });
  const disk = home.path("disk");
  await mkdir(disk);
  const refused: [string[], RegExp][] = [
    [["--bind", "8.8.8.8"], /8\.8\.8\.8.*--bind/],
    [["--state", home.path("file")], /\/file \(--state.*is a file/],
    [["--state", home.path("file", "below")], /a file stands where a folder has to be/],
    [["--state", "/proc/nope/deeper"], /\/proc\/nope.*--state/],
    [["--state", home.path("odd-token")], /file token .*folder stands/],
    [["--state", home.path("odd-host")], /file host\.json .*folder stands/],
    [["--state", home.path("odd-store")], /store host\.db cannot be opened/],
    [["--state", home.path("odd-lease")], /store host\.db cannot be opened/],
  ];
  const isMounted = await run("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", disk]).then(
    () => true,
    () => false,
  );
  if (isMounted) refused.push([["--state", home.path("disk", "state")], /full/]);
  try {
    const check = async (): Promise<void> => {
      for (const [args, sentence] of refused) {
        const { code, stdout, stderr } = await home.run(["start", dir, "--port", "0", ...args]);
        expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: "" });
        expect(stderr).toMatch(sentence);
        expect(stderr.trimEnd()).toMatch(/^lichen: .*$/);
      }
    };
    await writeFile(home.path("disk", "fill"), "x".repeat(65_536)).catch(() => undefined);
    await check();
    if (!isMounted) return skip("this user may not mount a small disk");
    await rm(home.path("disk", "fill"));
    refused.length = 0;
    await run("mount", ["-o", "remount,ro", disk]);
    refused.push([["--state", home.path("disk", "other")], /read-only|cannot be written/]);
    refused.push([["--state", home.path("disk")], /read-only|cannot be written/]);
    await check();
  } finally {
    if (isMounted) await run("umount", ["-l", disk]);
  }
});
