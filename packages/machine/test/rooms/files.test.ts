// Files that devices send to sessions.

import { randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:http";
import { basename, dirname, join } from "node:path";
import { nodePlatform } from "@lichen/runtime/node";
import { expect, test } from "vitest";
import { safeName, Uploads } from "../../src/files/uploads.ts";
import { Clock, turn } from "../../../runtime/test/clock.ts";
import { Rig } from "../rig.ts";

const hour = 3_600_000;

async function put(rig: Rig, name: string, query: string, body: BodyInit): Promise<Response> {
  return fetch(`${rig.host.url}/v1/sessions/${name}/files${query}`, {
    method: "POST",
    headers: { authorization: `Bearer ${rig.host.token}` },
    body,
    duplex: "half",
  } as RequestInit);
}

async function pathOf(answer: Response): Promise<string> {
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { path: string }).path;
}

function kept(rig: Rig): string[] {
  const { id } = rig.machine.sessions.get("a");
  const folder = join(rig.machine.stateDir, "uploads", id);
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

test("[AD50] a file lies in its session's folder under a time and a safe name, whatever it was called", async () => {
  await using rig = await Rig.open();
  const { id } = await rig.make("a");
  const bytes = randomBytes(300_000);
  const path = await pathOf(await put(rig, "a", "?name=my%20photo%20(1).jpg", bytes));
  expect(dirname(path)).toBe(join(rig.machine.stateDir, "uploads", id));
  expect(basename(path)).toMatch(/^\d{8}-\d{6}-my_photo_1_\.jpg$/);
  expect(readFileSync(path).equals(bytes)).toBe(true);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  for (const [name, safe] of [
    ["../../etc/passwd", "etc_passwd"],
    ["...", "file"],
    ["", "file"],
    ["\0\n", "file"],
    ["ěšč", "file"],
    [".bashrc", "bashrc"],
    [`${"a".repeat(300)}.tar.gz`, `${"a".repeat(125)}.gz`],
  ] as const)
    expect(safeName(name)).toBe(safe);
  const more = await Promise.all(
    [1, 2, 3].map(async () => pathOf(await put(rig, "a", "?name=..%2F..%2Fx", "x"))),
  );
  expect(new Set(more).size).toBe(3);
  expect(more.every((it) => dirname(it) === dirname(path))).toBe(true);
  expect(await pathOf(await put(rig, "a", "", "x"))).toMatch(/-file$/);
});

test("[AD51] a file that is empty, too large, or breaks off is refused and leaves nothing", async () => {
  await using rig = await Rig.open();
  await rig.make("a");
  expect((await put(rig, "a", "?name=x", "")).status).toBe(400);
  expect((await put(rig, "a", "?name=x&other=1", "x")).status).toBe(400);
  expect((await put(rig, "none", "?name=x", "x")).status).toBe(404);
  const piece = Buffer.alloc(1_048_576);
  let sent = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent++ < 60) controller.enqueue(piece);
      else controller.close();
    },
  });
  const large = await put(rig, "a", "?name=x", endless).catch(() => undefined);
  if (large) expect(large.status).toBe(400);
  const announced = await put(rig, "a", "?name=x", Buffer.alloc(52_428_801)).catch(() => undefined);
  if (announced) expect(announced.status).toBe(400);
  await new Promise<void>((resolve) => {
    const { hostname, port } = new URL(rig.host.url);
    const half = request({
      ...{ hostname, port, method: "POST", path: "/v1/sessions/a/files?name=half" },
      headers: { authorization: `Bearer ${rig.host.token}`, "content-length": "1000000" },
    });
    half.on("error", () => resolve());
    half.write(Buffer.alloc(200_000), () => half.destroy());
    half.on("close", () => resolve());
  });
  const deadline = Date.now() + 10_000;
  while (kept(rig).length > 0 && Date.now() < deadline)
    await new Promise((resolve) => void setImmediate(resolve));
  expect(kept(rig)).toEqual([]);
  expect(rig.bugs).toEqual([]);
  const most = await pathOf(await put(rig, "a", "?name=most", Buffer.alloc(52_428_800)));
  expect(statSync(most).size).toBe(52_428_800);
});

test("[AD50] files of one second are numbered, and a hundred of one name are the most", async () => {
  await using rig = await Rig.open();
  // By its own clock the machine would sweep what comes by the test's.
  const stateDir = join(rig.root, "apart");
  const clock = new Clock();
  const platform = { ...nodePlatform({ report: () => {} }), now: () => clock.now() };
  const uploads = new Uploads({ stateDir, platform, isGone: () => false });
  const send = async () => {
    async function* bytes() {
      yield new Uint8Array(1);
    }
    return basename(await uploads.keep("agent", { name: "x", bytes: bytes() }));
  };
  const names: string[] = [];
  for (let n = 0; n < 100; n++) names.push(await send());
  expect(names.slice(0, 3).map((name) => name.slice(16))).toEqual(["x", "1-x", "2-x"]);
  await expect(send()).rejects.toMatchObject({ code: "conflict" });
  clock.pass(1_000);
  expect((await send()).slice(16)).toBe("x");
});

test("[AD52] a file goes two weeks after it came, or its own time after; where that time is 0, never", async () => {
  await using rig = await Rig.open();
  // By its own clock the machine would sweep what comes by the test's.
  const stateDir = join(rig.root, "apart");
  const clock = new Clock();
  const platform = {
    now: () => clock.now(),
    after: (ms: number, wake: () => void) => clock.after(ms, wake),
    report: (error: unknown) => {
      throw error;
    },
  };
  const open = (keepMs?: number) =>
    new Uploads({
      ...{ stateDir, platform, isGone: (agent) => agent === "gone" },
      ...(keepMs === undefined ? {} : { keepMs }),
    });
  const uploads = open();
  const send = (agent: string, name: string) => {
    async function* bytes() {
      yield new Uint8Array(1);
    }
    return uploads.keep(agent, { name, bytes: bytes() });
  };
  const day = 86_400_000;
  const old = await send("agent", "old");
  const gone = await send("gone", "old");
  clock.pass(13 * day);
  const young = await send("agent", "young");
  mkdirSync(join(stateDir, "uploads", "agent", "folder"));
  symlinkSync(young, join(stateDir, "uploads", "agent", "link"));
  await uploads.sweep();
  expect([old, gone, young].map((it) => existsSync(it))).toEqual([true, true, true]);
  clock.pass(day);
  await open(0).sweep();
  expect(existsSync(old)).toBe(true);
  uploads.start();
  await swept(clock, dirname(gone));
  await swept(clock, old);
  expect([old, young].map((it) => existsSync(it))).toEqual([false, true]);
  clock.pass(13 * day);
  await swept(clock, young);
  await uploads.close();
  expect(clock.due()).toBe(undefined);
});

test("[AD58] a folder that was replaced by a link gets no file, and none of what it leads to is deleted", async () => {
  await using rig = await Rig.open();
  const { id } = await rig.make("a");
  const path = await pathOf(await put(rig, "a", "?name=x", "x"));
  const elsewhere = join(rig.root, "elsewhere");
  mkdirSync(join(elsewhere, id), { recursive: true });
  const own = join(elsewhere, id, "own");
  writeFileSync(own, "precious");
  utimesSync(own, 1, 1);
  const { stateDir, platform } = rig.machine;
  const uploads = new Uploads({ stateDir, platform, isGone: () => true });
  for (const replaced of [dirname(path), dirname(dirname(path))]) {
    renameSync(replaced, `${replaced}.was`);
    symlinkSync(replaced === dirname(path) ? dirname(own) : elsewhere, replaced);
    expect((await put(rig, "a", "?name=y", "y")).status).toBeGreaterThanOrEqual(400);
    await uploads.sweep();
    rmSync(replaced);
    renameSync(`${replaced}.was`, replaced);
  }
  expect(readdirSync(dirname(own))).toEqual(["own"]);
  await pathOf(await put(rig, "a", "?name=y", "y"));
});

/** Hours pass until it is gone. */
async function swept(clock: Clock, path: string): Promise<void> {
  const deadline = Date.now() + 10_000;
  // Time waits for a sweep that is under way, however slow the disk is.
  while (existsSync(path) && Date.now() < deadline)
    await (clock.due() === undefined ? turn() : clock.advance(hour));
  expect(existsSync(path)).toBe(false);
}
