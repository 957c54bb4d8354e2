// These tests need a working bubblewrap and fail without one.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startScriptedProvider } from "@lichen/engine/testing";
import { expect, test } from "vitest";
import { compileCaches } from "../../src/host/compile-cache.ts";
import { openAgent } from "../../src/host/open-agent.ts";
import { openHost } from "../../src/host/open-host.ts";
import { collect } from "../../src/invoke/collect.ts";
import { invokeOf } from "../../src/invoke/invoke-of.ts";
import { env, modelsOf, scriptedModel } from "../embed/provider-models.ts";
import { TempFolder } from "./temp-folder.ts";

const secret = "canary-5f1c9a";
const walled = 'export default { sandbox: "require" };\n';
const variables = ["HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "NODE_COMPILE_CACHE"];

/** A user's folders, in place of the real ones. */
class Home extends TempFolder {
  readonly #before = variables.map((name) => process.env[name]);

  constructor() {
    super();
    process.env["HOME"] = this.path;
    process.env["XDG_CACHE_HOME"] = this.join("cache");
    process.env["XDG_DATA_HOME"] = this.join("data");
    process.env["NODE_COMPILE_CACHE"] = this.join("compiled");
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

interface Call {
  readonly name: string;
  readonly input: Record<string, string>;
}

const bash = (command: string): Call => ({ name: "bash", input: { command } });

/** Lets a host's agent make each call in a turn of its own; everything that any model was sent, as one text. */
async function sentBy(
  dir: string,
  state: string,
  ...turns: (Call | (() => void))[]
): Promise<string> {
  const provider = await startScriptedProvider();
  const host = await openHost({
    dir,
    state,
    model: scriptedModel,
    models: modelsOf(provider),
    env,
    report: (error) => {
      throw error;
    },
  });
  try {
    const agent = invokeOf(host.agent);
    for (const turn of turns) {
      if (typeof turn === "function") turn();
      else {
        provider.push({ parts: [{ call: turn }] }, "Tried.", "Again.");
        await collect(agent.invoke({ session: "s" }, { text: "Go." }));
        await collect(agent.invoke({ session: "s" }, { text: "And now?" }));
      }
    }
    return JSON.stringify(provider.requests);
  } finally {
    await host.close();
    await provider.close();
  }
}

test("[F17] an agent that puts links to the host's token in place of its files learns nothing from its own prompt", async () => {
  using home = new Home();
  using work = new TempFolder().write({ "lichen.config.ts": walled });
  const state = home.join("state");
  mkdirSync(state);
  writeFileSync(join(state, "token"), `${secret}-${"x".repeat(40)}`);
  const token = join(state, "token");
  const sent = await sentBy(
    work.path,
    state,
    bash(`ln -s ${token} AGENTS.md; ln -s ${token} persona.md; ls -l AGENTS.md`),
    bash(`mkdir -p skills/a && ln -s ${token} skills/a/SKILL.md; ln -sf ${token} CLAUDE.md`),
    bash("rm AGENTS.md; mkfifo AGENTS.md && echo piped"),
  );
  expect(sent).toContain("piped");
  expect(sent).not.toContain(secret);
});

test("[C22] .secrets that its owner makes while the host runs is closed to every tool, beside the config and where the agent works", async () => {
  using home = new Home();
  using work = new TempFolder().write({ "bot/lichen.config.ts": walled });
  const sent = await sentBy(
    work.path,
    home.join("state"),
    bash("ls -A .secrets bot; mkdir -p .secrets && echo PLANTED=1 > .secrets/.env"),
    () => {
      expect(existsSync(work.join(".secrets"))).toBe(false);
      work.write({ ".secrets/.env": secret, "bot/.secrets/.env": secret });
    },
    bash("cat .secrets/.env bot/.secrets/.env; grep -r canary ."),
    { name: "read", input: { path: ".secrets/.env" } },
    { name: "read", input: { path: "bot/.secrets/.env" } },
    { name: "write", input: { path: ".secrets/.env", content: "PLANTED=1" } },
  );
  expect(sent).not.toContain(secret);
  expect(readFileSync(work.join(".secrets/.env"), "utf8")).toBe(secret);
});

test("[C21] the places of compiled code are empty and closed to an agent", async () => {
  using home = new Home();
  using work = new TempFolder().write({ "lichen.config.ts": walled });
  const places = [home.join("cache/lichen"), home.join("compiled")];
  expect(compileCaches()).toEqual(expect.arrayContaining(places));
  for (const place of places) {
    mkdirSync(join(place, "compile"), { recursive: true });
    writeFileSync(join(place, "compile/code"), secret);
  }
  const sent = await sentBy(
    work.path,
    home.join("state"),
    ...places.flatMap((place) => [
      bash(
        `cat ${place}/compile/code; echo evil > ${place}/compile/code; echo evil > ${place}/new`,
      ),
      bash(
        `rm -rf ${place}; mv ${place} ${place}-away; mkdir -p ${place}; echo evil > ${place}/new`,
      ),
      { name: "write", input: { path: join(place, "compile/code"), content: "evil" } },
    ]),
  );
  expect(sent).not.toContain(secret);
  for (const place of places) {
    expect(readFileSync(join(place, "compile/code"), "utf8")).toBe(secret);
    expect(readdirSync(place)).toEqual(["compile"]);
  }
});

test("[C21] the profiles in which a program can be named that the host's model client runs are read-only", async () => {
  using home = new Home();
  home.write({ ".aws/config": "[default]\n" });
  using work = new TempFolder().write({ "lichen.config.ts": walled });
  const config = home.join(".aws/config");
  await sentBy(
    work.path,
    home.join("state"),
    bash(`echo credential_process = evil >> ${config}; mv ${home.join(".aws")} away`),
    { name: "write", input: { path: config, content: "credential_process = evil" } },
  );
  expect(readFileSync(config, "utf8")).toBe("[default]\n");
});

test("[C22] an agent embedded in another program sees nothing of this user's hosts and credentials either", async () => {
  using home = new Home();
  using work = new TempFolder().write({ "lichen.config.ts": walled });
  home.write({ "data/lichen/other/token": secret, "data/lichen/credentials.json": secret });
  const provider = await startScriptedProvider();
  await using opened = await openAgent({
    dir: work.path,
    model: scriptedModel,
    models: modelsOf(provider),
    env,
  });
  const command = `cat ${home.join("data/lichen/other/token")} ${home.join("data/lichen/credentials.json")}`;
  const path = home.join("data/lichen/other/token");
  provider.push(
    { parts: [{ call: bash(command) }] },
    { parts: [{ call: { name: "read", input: { path } } }] },
    "Tried.",
  );
  await collect(invokeOf(opened.agent).invoke({ session: "s" }, { text: "Go." }));
  expect(provider.requests).toHaveLength(3);
  expect(JSON.stringify(provider.requests)).not.toContain(secret);
  await provider.close();
});
