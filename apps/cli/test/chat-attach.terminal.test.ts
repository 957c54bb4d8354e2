import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { Provider, writeAgent } from "./agent.ts";
import { compileCache, everyLine, say, timesSeen } from "./chat.ts";
import { StartedHost } from "./host.ts";
import { bin, Home } from "./process.ts";
import { Terminal } from "./terminal.ts";

function attach(
  home: Home,
  url: string,
  { env = {}, args = [] }: { env?: Record<string, string>; args?: readonly string[] } = {},
): Promise<Terminal> {
  return Terminal.open({
    command: process.execPath,
    args: [bin, "attach", url, "--session", "s", ...args],
    cwd: home.dir,
    env: { HOME: home.dir, NODE_COMPILE_CACHE: compileCache, ...env },
    above: "$ before",
  });
}

test("[U16] attach is the same screen on a host at an address, and waits there for it to come back", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const provider = await Provider.start(home, dir, { steps: ["Before."], then: "Heard." });
  const host = await StartedHost.start(home, dir);
  await using chat = await attach(home, host.url, { env: { LICHEN_TOKEN: host.token } });
  await chat.until("scripted/one");
  await say(chat, "one");
  await chat.until("Before.");
  await host.running.stop("SIGKILL");
  await chat.until("No connection since");
  await say(chat, "are you there");
  await chat.until("waits for the connection: are you there");
  const { port } = new URL(host.url);
  await StartedHost.start(home, dir, ["--port", port]);
  await chat.until("Heard.");
  await chat.untilGone("No connection since");
  expect(await provider.requests()).toBe(2);
  expect(timesSeen(await everyLine(chat), "▌ are you there")).toBe(1);
  await chat.press("C-d");
  expect(await chat.exitCode()).toBe(0);
  await chat.until("lichen attach");
});

test("[U16] the token is asked for where none is given, shown nowhere, and a wrong one is refused", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: [], then: "Heard." });
  const host = await StartedHost.start(home, dir);
  await using chat = await attach(home, host.url);
  await chat.until("The host's token");
  await say(chat, host.token);
  await chat.until("scripted/one");
  expect(chat.written).not.toContain(host.token);
  await using wrong = await attach(home, host.url, { env: { LICHEN_TOKEN: "made-up" } });
  expect(await wrong.exitCode()).toBe(1);
  await wrong.until(/lichen: .*token/s);
  expect(await wrong.modes()).toMatchObject({ alternate: false, lineSettings: "as before" });
});

test("[U16] who does not prove to know the token is told nothing", async () => {
  await using home = await Home.make();
  const heard: unknown[] = [];
  const stranger = createServer((request, answer) => {
    heard.push([request.url?.split("?")[0], request.headers.authorization]);
    answer.setHeader("content-type", "application/json");
    answer.end(JSON.stringify({ status: "ok", wire: 1, features: [], proof: "made-up" }));
  });
  stranger.listen(0, "127.0.0.1");
  await once(stranger, "listening");
  try {
    const { port } = stranger.address() as AddressInfo;
    const env = { LICHEN_TOKEN: "a-real-token" };
    await using chat = await attach(home, `http://127.0.0.1:${port}`, { env });
    expect(await chat.exitCode()).toBe(1);
    await chat.until("lichen: ");
    expect(heard).not.toHaveLength(0);
    for (const each of heard) expect(each).toEqual(["/health", undefined]);
  } finally {
    stranger.closeAllConnections();
    stranger.close();
  }
});
