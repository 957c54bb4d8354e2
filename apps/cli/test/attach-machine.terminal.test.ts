import { expect, test } from "vitest";
import { Provider, writeAgent } from "./agent.ts";
import { compileCache, say } from "./chat.ts";
import { StartedMachine } from "./machine.ts";
import { bin, Home } from "./process.ts";
import { Terminal } from "./terminal.ts";

function attach(home: Home, word: string): Promise<Terminal> {
  return Terminal.open({
    command: process.execPath,
    args: [bin, "attach", word],
    cwd: home.dir,
    env: { HOME: home.dir, NODE_COMPILE_CACHE: compileCache },
  });
}

test("[UP21] attach shows a coding agent's session, whose one conversation begins anew with /new; what is for many sessions is not offered", async () => {
  await using home = await Home.make();
  const machine = await StartedMachine.start(home);
  const { id } = await machine.make("demo", home.path("demo"));
  await using chat = await attach(home, "demo");
  await chat.until("ready · demo");
  await say(chat, "hello");
  await chat.until("You said: hello");
  await say(chat, "/fork");
  await chat.until("There is no command /fork");
  await chat.press("C-u");
  await chat.press("C-r");
  await chat.until("A coding agent has one session");
  await say(chat, "/help");
  await chat.until("begin the conversation anew");
  expect((await chat.screen()).join("\n")).not.toContain("go on with another");
  await chat.press("Escape");
  await chat.untilGone("Keys and commands");
  await say(chat, "/new");
  await chat.until("begins anew");
  await chat.press("C-d");
  expect(await chat.exitCode()).toBe(0);
  await chat.until("lichen attach demo");
  const { sessions } = (await (await machine.ask("/v1/sessions")).json()) as { sessions: object[] };
  expect(sessions).toMatchObject([{ id, name: "demo" }]);
  const log = await home.run(["log", "demo", "--json"]);
  expect(log.stdout).toContain('"conversation.started"');
});

test("[UP21] attach shows a conversation of a folder's agent, which can have others", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: [], then: "Heard." });
  await StartedMachine.start(home, [dir]);
  await using chat = await attach(home, "agent");
  await chat.until("ready · agent");
  await say(chat, "hello");
  await chat.until("Heard.");
  await say(chat, "/new");
  await chat.untilGone("Heard.");
  await chat.press("C-d");
  expect(await chat.exitCode()).toBe(0);
  const { stdout } = await home.run(["ps"]);
  expect(stdout).toMatch(/^agent +model +idle .*Heard\.\n$/);
});
