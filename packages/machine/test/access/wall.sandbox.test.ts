// These tests need a working bubblewrap and fail without one.

import { existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { type MachineWall, openWall } from "../../src/access/index.ts";
import { AccessRig, writeMeshes } from "./rig.ts";
import { runBehind } from "./run-behind.ts";

const run = (wall: MachineWall, id: string, dir: string, script: string, cwd = dir) =>
  runBehind(wall, { id, dir, cwd }, script);

/** A request as a process of an agent makes it, over a socket or a port. */
const ask = (to: string, path: string, more = "") =>
  `${process.execPath} -e 'require("http").request({${to}, path: "${path}", headers: {host: process.argv[1] ?? "localhost"}, ${more}}, (it) => { console.log(it.statusCode); it.pipe(process.stdout); }).on("error", (it) => console.log(it.code)).end()'`;

async function walledRig() {
  const rig = await AccessRig.open();
  const dir = join(rig.root, "home", "work");
  const { id } = await rig.make("work");
  const other = await rig.make("other");
  const wall = await openWall({
    mode: "require",
    mask: [rig.stateDir],
    sockets: rig.access.sockets,
    places: { env: {}, home: join(rig.root, "home") },
  });
  return { rig, dir, id, other: other.id, wall };
}

test("[DV22] a process of an agent reaches its own session over its socket, and nothing of another one", async () => {
  const { rig, dir, id, other, wall } = await walledRig();
  await using _ = rig;
  const theirs = rig.access.sockets.open(other);
  const own = await run(
    wall,
    id,
    dir,
    ask("socketPath: process.env.LICHEN_SOCKET", "/v1/sessions"),
  );
  expect(own.out).toMatch(/^200\n/);
  expect(own.out).toContain('"name":"work"');
  expect(own.out).not.toContain('"name":"other"');
  const foreign = await run(wall, id, dir, ask(`socketPath: "${theirs.path}"`, "/v1/sessions"));
  expect(foreign.out).toBe("ENOENT\n");
  const listed = await run(wall, id, dir, `ls ${rig.access.sockets.folder}; ls -A ${rig.stateDir}`);
  expect(listed.out.trim().split("\n")).toEqual([expect.stringMatching(/^[0-9a-f]{12}$/), "run"]);
  theirs.release();
});

test("[DV22] no process of an agent sees the owner's token, devices' keys, the store or the meshes, nor can it take their places", async () => {
  const { rig, dir, id, wall } = await walledRig();
  await using _ = rig;
  const { key } = await rig.pair("phone");
  writeMeshes(rig.stateDir, { self: { id: "k", name: "here" }, networks: [], nodes: [] });
  for (const file of ["token", "devices.db", "devices.db-wal", "host.db", "meshes.json"]) {
    const path = join(rig.stateDir, file);
    expect(existsSync(path), file).toBe(true);
    for (const script of [`cat ${path}`, `echo x > ${path}`, `mv ${rig.stateDir} ${dir}/state`]) {
      const said = await run(wall, id, dir, script);
      expect(said.code, script).not.toBe(0);
      expect(said.out, script).not.toContain(rig.host.token);
      expect(said.out, script).not.toContain("SQLite");
    }
  }
  const socket =
    'rm -f "$LICHEN_SOCKET" || mv "$LICHEN_SOCKET" "$LICHEN_SOCKET.old" || touch "$(dirname "$LICHEN_SOCKET")/x"';
  expect((await run(wall, id, dir, socket)).code).not.toBe(0);
  // By the port it is nobody.
  const port = await run(
    wall,
    id,
    dir,
    `${ask(`host: "127.0.0.1", port: ${rig.port}`, "/v1/devices")} 127.0.0.1:${rig.port}`,
  );
  expect(port.out).toMatch(/^401\n/);
  const variables = await run(wall, id, dir, "env; cat /proc/*/environ");
  expect(variables.out).not.toContain(rig.host.token);
  expect(variables.out).not.toContain(key);
});

test("[DV22] a process that is started below its directory stays there", async () => {
  const { rig, dir, id, wall } = await walledRig();
  await using _ = rig;
  mkdirSync(join(dir, "sub"));
  expect((await run(wall, id, dir, "pwd", join(dir, "sub"))).out).toBe(`${join(dir, "sub")}\n`);
  rmSync(join(dir, "sub"), { recursive: true });
});

test("[DV22] where the state lies in a folder that is hidden whole, an agent still sees its own socket in it and nothing else", async () => {
  const { rig, dir, id } = await walledRig();
  await using _ = rig;
  const data = dirname(rig.stateDir);
  const options = {
    ...({ mode: "require", mask: [rig.stateDir], sockets: rig.access.sockets } as const),
    places: { env: {}, home: join(rig.root, "home") },
  };
  for (const wall of [
    await openWall({ ...options, hide: [data] }),
    await openWall({ ...options, mask: [data] }),
  ]) {
    const own = await run(
      wall,
      id,
      dir,
      ask("socketPath: process.env.LICHEN_SOCKET", "/v1/sessions"),
    );
    expect(own.out).toMatch(/^200\n/);
    const seen = await run(wall, id, dir, `find ${data}`);
    const socket = rig.access.sockets.pathOf(id);
    expect(seen.out.trim().split("\n")).toEqual([
      data,
      rig.stateDir,
      dirname(dirname(dirname(socket))),
      dirname(dirname(socket)),
      dirname(socket),
      socket,
    ]);
  }
});
