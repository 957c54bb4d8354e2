// These tests need a working bubblewrap and fail without one.

import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { hostProgram } from "@lichen/server/node";
import { expect, test } from "vitest";
import { openWall } from "../../src/access/index.ts";
import { AccessRig } from "./rig.ts";
import { runBehind } from "./run-behind.ts";

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** A home as a person has it, with Lichen installed in it and two folders of the PATH, one of them missing. */
async function homeRig() {
  const rig = await AccessRig.open();
  const { id } = await rig.make("work");
  const home = join(rig.root, "home");
  const at = (name: string): string => join(home, name);
  for (const name of [".profile", ".bashrc", ".config/fish/config.fish", ".ssh/config"])
    write(at(name), "own");
  for (const name of [".aws/config", ".config/systemd/user/lichen.service"]) write(at(name), "own");
  write(at("prefix/lib/node_modules/lichen/bin/lichen.mjs"), "own");
  mkdirSync(at("prefix/bin"));
  symlinkSync("../lib/node_modules/lichen/bin/lichen.mjs", at("prefix/bin/lichen"));
  const scripts = at("project/node_modules/.bin");
  const PATH = [scripts, at("bin"), at("prefix/bin"), at("later"), process.env["PATH"]].join(":");
  const wall = await openWall({
    ...{ mode: "require", mask: [rig.stateDir], sockets: rig.access.sockets },
    places: { env: { PATH }, home },
  });
  const run = (script: string, dir = at("work")) => runBehind(wall, { id, dir }, script);
  return { rig, home, at, run };
}

test("[DV34] a process of an agent changes nothing that this user's computer runs outside of walls, in any way", async () => {
  const { rig, home, at, run } = await homeRig();
  await using _ = rig;
  const kept = [
    ...[".profile", ".bashrc", ".config/fish/config.fish", ".ssh/config", ".aws/config"],
    ".config/systemd/user/lichen.service",
  ];
  const [installation = "", node = ""] = hostProgram("/");
  const planted = [
    ...[".config/systemd/user/evil.service", ".config/systemd/user.conf"],
    ...[".config/environment.d/evil.conf", ".config/autostart/evil.desktop"],
    ...[".local/share/systemd/user/evil.service", "bin/lichen", "prefix/bin/ls"],
    join(installation, "node_modules", "evil-of-a-test.js"),
    join(installation, "evil-of-a-test.js"),
  ].map((name) => (name.startsWith("/") ? name : at(name)));
  try {
    for (const name of kept) {
      const path = at(name);
      for (const script of [
        `echo evil > ${path}`,
        `rm ${path}`,
        `echo evil > ${home}/x; mv ${home}/x ${path}`,
        `ln -sf ${home}/work ${path}`,
        `mv ${dirname(path)} ${dirname(path)}2 && mkdir ${dirname(path)} && echo evil > ${path}`,
      ])
        expect((await run(script)).code, script).not.toBe(0);
      expect(readFileSync(path, "utf8"), name).toBe("own");
    }
    for (const path of planted) {
      const said = await run(`mkdir -p ${dirname(path)}; echo evil > ${path}`);
      expect(said.code, path).not.toBe(0);
      expect(existsSync(path), path).toBe(false);
    }
    const keys = at(".ssh/authorized_keys");
    expect((await run(`echo evil >> ${keys}`)).code).not.toBe(0);
    expect(readFileSync(keys, "utf8")).toBe("");
    expect(statSync(keys).mode & 0o777).toBe(0o600);
    expect((await run(`ln -sf ${home}/x ${at("prefix/bin/lichen")}`)).code).not.toBe(0);
    expect((await run(`touch ${node}`)).code).not.toBe(0);
  } finally {
    for (const path of planted) rmSync(path, { force: true });
  }
});

test("[DV34] coding agents keep and refresh their own logins and settings, and the rest of the home is as it was", async () => {
  const { rig, at, run } = await homeRig();
  await using _ = rig;
  write(at(".claude/.credentials.json"), "old");
  write(at(".pi/agent/auth.json"), "old");
  for (const name of [
    ...[".claude/.credentials.json", ".claude.json", ".claude/projects/a/b.jsonl"],
    ...[".pi/agent/auth.json", ".aws/sso/cache/login.json", ".ssh/known_hosts"],
    ...[
      ".config/git/config",
      "project/node_modules/.bin/a",
      "work/a.txt",
      "later/tool",
      ".cache/a",
    ],
  ]) {
    // Written beside it and moved over it, as careful programs do.
    const path = at(name);
    const said = await run(
      `mkdir -p ${dirname(path)}; echo new > ${path}.1 && mv ${path}.1 ${path}`,
    );
    expect(said, name).toEqual({ code: 0, out: "" });
    expect(readFileSync(path, "utf8")).toBe("new\n");
  }
});

test("[DV34] what is someone's own way of keeping these files keeps no agent from running: links, second names, a folder in the home", async () => {
  const { rig, home, at, run } = await homeRig();
  await using _ = rig;
  write(at("dotfiles/zshrc"), "own");
  symlinkSync("dotfiles/zshrc", at(".zshrc"));
  expect((await run(`ln ${at(".profile")} ${at("second")}`)).code).not.toBe(0);
  expect((await run("echo x > a && cat a")).out).toBe("x\n");
  expect((await run(`echo evil > ${at("dotfiles/zshrc")}`, home)).code).not.toBe(0);
  expect((await run(`echo x > ${at("a")}`, home)).code).toBe(0);
  // Who works in such a folder works in it.
  expect((await run("echo x > tool", at("prefix/bin"))).code).toBe(0);
});
