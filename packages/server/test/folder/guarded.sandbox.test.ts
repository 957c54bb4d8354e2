// These tests need a working bubblewrap and fail without one.

import { existsSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { startScriptedProvider } from "@lichen/engine/testing";
import { expect, test } from "vitest";
import { makeGuardedPlaces, ownHome } from "../../src/host/guarded-places.ts";
import { openHost } from "../../src/host/open-host.ts";
import { collect } from "../../src/invoke/collect.ts";
import { invokeOf } from "../../src/invoke/invoke-of.ts";
import { env, modelsOf, scriptedModel } from "../embed/provider-models.ts";
import { TempFolder } from "./temp-folder.ts";

const variables = ["HOME", "PATH", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"];

/** A home as a person has it, with Lichen on the PATH and a dotfile that is kept elsewhere. */
class Home extends TempFolder {
  readonly #before = variables.map((name) => process.env[name]);

  constructor() {
    super();
    this.write({
      ".profile": "own",
      ".aws/config": "own",
      ".config/systemd/user/lichen.service": "own",
      "dotfiles/zshrc": "own",
      "bin/lichen": "own",
      "work/lichen.config.ts": 'export default { sandbox: "require" };\n',
    });
    symlinkSync("dotfiles/zshrc", this.join(".zshrc"));
    process.env["HOME"] = this.path;
    process.env["PATH"] = `${this.join("bin")}:${process.env["PATH"]}`;
    process.env["XDG_CONFIG_HOME"] = this.join(".config");
    process.env["XDG_DATA_HOME"] = this.join(".local/share");
    process.env["XDG_CACHE_HOME"] = this.join(".cache");
  }

  override [Symbol.dispose](): void {
    for (const [index, name] of variables.entries()) {
      const before = this.#before[index];
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    }
    super[Symbol.dispose]();
  }
}

test("[C28] a folder's agent changes nothing that its user's computer runs outside of walls, by no tool, and works wherever links lead", async () => {
  using state = new TempFolder();
  using home = new Home();
  makeGuardedPlaces(ownHome());
  const provider = await startScriptedProvider();
  const host = await openHost({
    ...{ dir: home.join("work"), state: state.path, model: scriptedModel, env },
    models: modelsOf(provider),
    report: (error) => {
      throw error;
    },
  });
  const kept = [".profile", ".config/systemd/user/lichen.service", "dotfiles/zshrc", "bin/lichen"];
  const planted = [
    ...[".config/systemd/user/evil.service", ".config/autostart/evil.desktop", "bin/ls"],
    ".config/environment.d/evil.conf",
  ];
  for (const name of [...kept, ...planted, ".ssh/authorized_keys"]) {
    const path = home.join(name);
    for (const command of [`echo evil > ${path}`, `echo evil > x; mv x ${path}`, `rm ${path}`])
      provider.push({ parts: [{ call: { name: "bash", input: { command } } }] });
    provider.push({ parts: [{ call: { name: "write", input: { path, content: "evil" } } }] });
  }
  const more = [`echo noted > notes.txt`, `echo new > ${home.join("other.txt")}`];
  for (const command of more)
    provider.push({ parts: [{ call: { name: "bash", input: { command } } }] });
  provider.push("Tried.");
  await collect(invokeOf(host.agent).invoke({ session: "s" }, { text: "Go." }));
  await host.close();
  await provider.close();
  for (const name of kept) expect(readFileSync(home.join(name), "utf8"), name).toBe("own");
  for (const name of planted) expect(existsSync(home.join(name)), name).toBe(false);
  expect(readFileSync(home.join(".ssh/authorized_keys"), "utf8")).toBe("");
  expect(readFileSync(home.join("work/notes.txt"), "utf8")).toBe("noted\n");
  expect(readFileSync(home.join("other.txt"), "utf8")).toBe("new\n");
});

test("[C28] what is guarded is there before an agent could make it, for its user alone, and no home is made for who has none", () => {
  using home = new Home();
  const { env } = ownHome();
  makeGuardedPlaces({ env, home: home.path });
  expect(statSync(home.join(".ssh")).mode & 0o777).toBe(0o700);
  expect(statSync(home.join(".ssh/authorized_keys")).mode & 0o777).toBe(0o600);
  expect(statSync(home.join(".config/autostart")).mode & 0o022).toBe(0);
  makeGuardedPlaces({ env: {}, home: home.join("nowhere") });
  expect(existsSync(home.join("nowhere"))).toBe(false);
});
