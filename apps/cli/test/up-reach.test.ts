import { request } from "node:http";
import { urlsBeyond } from "@lichen/server/node";
import { expect, test } from "vitest";
import { writeAgent } from "./agent.ts";
import { StartedMachine } from "./machine.ts";
import { Home } from "./process.ts";

// Many processes, on a computer that may be busy.
const slow = { timeout: 240_000 };

/** What a request under another name is answered. */
async function askAs(host: string, url: string): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  request(`${url}/health`, { headers: { host } }, (answer) => {
    let text = "";
    answer.setEncoding("utf8").on("data", (part: string) => (text += part));
    answer.once("end", () => resolve({ status: answer.statusCode ?? 0, text }));
  })
    .once("error", reject)
    .end();
  return promise;
}

test(
  "[UP27] up says that this computer alone reaches it where it listens on loopback",
  slow,
  async () => {
    await using home = await Home.make();
    const machine = await StartedMachine.start(home);
    await machine.running.until(({ stderr }) => /Now, in another/.exec(stderr) ?? undefined);
    expect(machine.running.stderr).toContain(
      `this machine listens on ${machine.url}, which this computer alone reaches\n`,
    );
    expect(machine.running.stderr).not.toContain("whoever is in a network");
  },
);

test("[UP27] where others reach a listener is no loopback and no address that needs an interface's name", () => {
  const bound = ["127.0.0.1:1", "127.8.8.8:1", "[::1]:1", "[fe80::1]:1", "169.254.9.9:1"];
  expect(urlsBeyond(bound)).toEqual([]);
  expect(urlsBeyond([...bound, "192.168.1.5:1", "[fd00::2]:1"])).toEqual([
    "http://192.168.1.5:1",
    "http://[fd00::2]:1",
  ]);
});

test(
  "[UP28] what stands in front of a machine is named to up: pair shows it, requests come under it, and others are told how to name theirs",
  slow,
  async () => {
    await using home = await Home.make();
    const front = ["--public-url", "https://lichen.example", "--allow-host", "box.example:8443"];
    const machine = await StartedMachine.start(home, front);
    await machine.running.until(({ stderr }) => /Now, in another/.exec(stderr) ?? undefined);
    expect(machine.running.stderr).toContain("others reach it through https://lichen.example\n");
    const pairing = home.start(["pair"]);
    await pairing.until(
      ({ stdout }) => /^https:\/\/lichen\.example\/pair#/m.exec(stdout) ?? undefined,
    );
    await pairing.until(({ stderr }) => /Good for one device/.exec(stderr) ?? undefined);
    expect(await pairing.stop("SIGINT")).toBe(130);
    expect(pairing.stderr).not.toContain("this computer alone");
    expect((await askAs("lichen.example", machine.url)).status).toBe(200);
    expect((await askAs("box.example:8443", machine.url)).status).toBe(200);
    const other = await askAs("box.example", machine.url);
    expect(other.status).toBe(403);
    expect(other.text).toMatch(/named with --public-url or --allow-host where it is started/);
    for (const [option, value] of [
      ["--public-url", "lichen.example"],
      ["--public-url", "https://me@lichen.example"],
      ["--allow-host", "https://lichen.example"],
    ] as const)
      expect(await home.run(["up", option, value])).toMatchObject({ code: 2, stdout: "" });
  },
);

test(
  "[K122] start says who reaches it, and what stands in front of it is named to it before its config",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home, {
      "lichen.config.ts":
        'import { defineConfig } from "lichen";\nexport default defineConfig({ codingTools: false, publicUrl: "https://old.example" });\n',
    });
    const running = home.start([
      "start",
      dir,
      "--port",
      "0",
      "--public-url",
      "https://new.example",
    ]);
    await running.until(({ stderr }) => /Now, in another/.exec(stderr) ?? undefined);
    expect(running.stderr).toContain("others reach it through https://new.example\n");
    const url = /listens on (http:\/\/127\.0\.0\.1:\d+), which this computer alone reaches/.exec(
      running.stderr,
    )?.[1];
    expect((await askAs("new.example", url ?? "")).status).toBe(200);
    expect((await askAs("old.example", url ?? "")).status).toBe(403);
  },
);
