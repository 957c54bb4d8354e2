import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { openWall, SessionSockets } from "../../src/access/index.ts";
import { AccessRig, rest } from "./rig.ts";

test("[DV20] whatever comes over an agent's socket is of that agent, on a short way of its owner's alone", async () => {
  await using rig = await AccessRig.open();
  const { id } = await rig.make("work");
  await rig.make("other");
  const { path, folder } = rig.access.sockets.open(id);
  expect(Buffer.byteLength(path)).toBeLessThanOrEqual(103);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(path).mode & 0o077).toBe(0);
  const over = { socket: path, token: null };
  expect((await rig.ask("/v1/sessions/work/events", { ...over, method: "HEAD" })).status).toBe(200);
  expect((await rig.ask("/v1/sessions/other/events", { ...over, method: "HEAD" })).status).toBe(
    404,
  );
  expect((await rig.ask("/v1/sessions/none/events", { ...over, method: "HEAD" })).status).toBe(404);
  const foreign = { ...over, headers: { host: "evil.example" } };
  expect((await rig.ask("/v1/sessions", foreign)).status).toBe(403);
  const page = { ...over, headers: { origin: "http://evil.example" } };
  expect((await rig.ask("/v1/sessions", page)).status).toBe(403);
});

test("[DV21] a socket is there before its process and goes with the last of them, streams and all", async () => {
  await using rig = await AccessRig.open();
  const { id } = await rig.make("work");
  const { sockets } = rig.access;
  const wall = await openWall({
    ...{ mode: "off", mask: [], sockets },
    places: { env: {}, home: rig.root },
  });
  const around = wall.around({ id, dir: join(rig.root, "home", "work") });
  const path = sockets.pathOf(id);
  expect(existsSync(path)).toBe(false);
  const first = around(["agent", "--flag"]);
  expect(existsSync(path)).toBe(true);
  expect(first.argv).toEqual(["/usr/bin/env", `LICHEN_SOCKET=${path}`, "agent", "--flag"]);
  const second = around(["terminal"]);
  const stream = await rig.stream("/v1/sessions/work/events", { socket: path, token: null });
  first.release();
  first.release();
  expect((await rig.ask("/v1/sessions", { socket: path, token: null })).status).toBe(200);
  second.release();
  await rest(stream);
  expect(existsSync(path)).toBe(false);
  const again = around(["agent"]);
  expect((await rig.ask("/v1/sessions", { socket: path, token: null })).status).toBe(200);
  again.release();
});

test("[DV21] what a crash left is taken away by the next machine, and a machine that closes leaves nothing", async () => {
  const root = mkdtempSync(join(tmpdir(), "lichen-sockets-"));
  const stateDir = join(root, "state");
  mkdirSync(stateDir);
  const options = { stateDir, report: () => {} };
  const crashed = new SessionSockets(options);
  const left = crashed.open("agent").path;
  const sockets = new SessionSockets(options);
  const { path } = sockets.open("agent");
  expect(path).not.toBe(left);
  // Until its store is its own, it takes nothing away: the other one may be alive.
  expect(existsSync(left)).toBe(true);
  sockets.serve(() => new Response("here"));
  expect(existsSync(dirname(left))).toBe(false);
  expect(existsSync(path)).toBe(true);
  sockets.close();
  expect(existsSync(sockets.folder)).toBe(false);
  crashed.close();
  rmSync(root, { recursive: true });
});

test("[DV35] however many connections an agent's processes open, they have 32 and nobody else has fewer", async () => {
  await using rig = await AccessRig.open();
  const { id } = await rig.make("work");
  const { path } = rig.access.sockets.open(id);
  const other = rig.access.sockets.open((await rig.make("other")).id);
  const held = [];
  for (let count = 0; count < 32; count++) {
    const socket = connect(path);
    await once(socket, "connect");
    held.push(socket);
  }
  const over = { socket: path, token: null };
  const closed = await Promise.all(
    Array.from({ length: 100 }, () => rig.ask("/v1/sessions", over).catch(() => "closed")),
  );
  expect(new Set(closed)).toEqual(new Set(["closed"]));
  expect((await rig.ask("/v1/sessions", { socket: other.path, token: null })).status).toBe(200);
  expect((await rig.ask("/v1/sessions")).status).toBe(200);
  const [first] = held;
  first?.end("GET /v1/sessions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
  await once(first!.resume(), "close");
  const again = () => rig.ask("/v1/sessions", over).then(({ status }) => status, String);
  await expect.poll(again).toBe(200);
  for (const socket of held) socket.destroy();
});

test("[DV21] where the state's path is too long for a socket, a private folder of temporary files holds it", () => {
  const root = mkdtempSync(join(tmpdir(), "lichen-sockets-"));
  const stateDir = join(root, "x".repeat(100));
  mkdirSync(stateDir);
  const sockets = new SessionSockets({ stateDir, report: () => {} });
  const { path } = sockets.open("agent");
  expect(path.startsWith(stateDir)).toBe(false);
  expect(statSync(sockets.folder).mode & 0o777).toBe(0o700);
  expect(existsSync(path)).toBe(true);
  sockets.serve(() => new Response("here"));
  sockets.close();
  expect(existsSync(sockets.folder)).toBe(false);
  rmSync(root, { recursive: true });
});
