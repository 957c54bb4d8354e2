import { expect, test } from "vitest";
import { Provider, writeAgent } from "./agent.ts";
import { compileCache } from "./chat.ts";
import { StartedHost } from "./host.ts";
import { bin, Home } from "./process.ts";
import { Relay } from "./relay.ts";
import { Terminal } from "./terminal.ts";

test("[K45] attach tells a relay nothing, and says what to do where it is a tunnel of one's own", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: [], then: "Heard." });
  const host = await StartedHost.start(home, dir);
  await using relay = await Relay.before(host.url);
  for (const name of ["127.0.0.1", "localhost"]) {
    await using chat = await Terminal.open({
      command: process.execPath,
      args: [bin, "attach", `http://${name}:${relay.port}`],
      cwd: home.dir,
      env: { HOME: home.dir, NODE_COMPILE_CACHE: compileCache, LICHEN_TOKEN: host.token },
      above: "$ before",
    });
    expect(await chat.exitCode()).toBe(1);
    await chat.until("so the token was not sent");
    await chat.until(`${name}:${relay.port}"`);
    expect(await chat.modes()).toMatchObject({ alternate: false, lineSettings: "as before" });
  }
  expect(relay.heard.length).toBeGreaterThan(1);
  expect(relay.stolen).toEqual([]);
});
