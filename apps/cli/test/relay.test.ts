import { writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { reachUrl } from "../src/reach-url.ts";
import { Provider, writeAgent } from "./agent.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";
import { Relay, Tunnel } from "./relay.ts";

/** Each of these starts several processes. */
const slow = { timeout: 90_000 };
/** Whether this computer has the other address of localhost. */
const hasSix = Object.values(networkInterfaces()).some((it) =>
  it?.some((at) => at.address === "::1"),
);

const withHosts = (...hosts: string[]): { "lichen.config.ts": string } => ({
  "lichen.config.ts":
    'import { defineConfig } from "lichen";\n' +
    `export default defineConfig({ codingTools: false, allowedHosts: ${JSON.stringify(hosts)} });\n`,
});

const reaches = async (url: string, token: string): Promise<string> => {
  const reached = await reachUrl(url, token);
  await reached.close();
  return `reached ${reached.agents.length}`;
};

test(
  "[K45] who passes the challenge on to the true host is refused in a sentence and told nothing, by whatever name it is dialled",
  slow,
  async () => {
    await using home = await Home.make();
    const host = await StartedHost.start(home, await writeAgent(home, withHosts("127.0.0.1")));
    const own = new URL(host.url).host;
    for (const name of [own, `localhost:${new URL(host.url).port}`, "127.0.0.1:1"]) {
      await using relay = await Relay.before(host.url, { host: name });
      for (const url of [relay.url, `http://localhost:${relay.port}`]) {
        await expect(reachUrl(url, host.token)).rejects.toMatchObject({
          code: "denied",
          message: expect.stringContaining(
            `add "${new URL(url).host}" to \`allowedHosts\``,
          ) as string,
        });
      }
      expect(relay.heard.length).toBeGreaterThan(1);
      expect(relay.stolen).toEqual([]);
    }
  },
);

test.skipIf(!hasSix)(
  "[K45] localhost is the host's own address, whoever listens at the other one",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    for (const [bind, other] of [
      ["127.0.0.1", "::1"],
      ["::1", "127.0.0.1"],
    ] as const) {
      const host = await StartedHost.start(home, dir, ["--bind", bind]);
      const { port } = new URL(host.url);
      const at = { address: other, port: Number(port), host: `localhost:${port}` };
      await using relay = await Relay.before(host.url, at);
      expect(await reaches(`http://localhost:${port}`, host.token)).toBe("reached 1");
      await expect(reachUrl(relay.url, host.token)).rejects.toMatchObject({ code: "denied" });
      expect(relay.heard.length).toBeGreaterThan(0);
      expect(relay.stolen).toEqual([]);
      await host.running.stop();
    }
  },
);

test(
  "[K45] a tunnel from another port is used where the host's config names it, and refused with what to do where not",
  slow,
  async () => {
    await using home = await Home.make();
    await using named = await Tunnel.open();
    await using other = await Tunnel.open();
    const dir = await writeAgent(home, withHosts(`localhost:${named.port}`));
    const host = await StartedHost.start(home, dir);
    named.leadsTo = other.leadsTo = Number(new URL(host.url).port);
    for (const name of ["localhost", "127.0.0.1"]) {
      expect(await reaches(`http://${name}:${named.port}`, host.token)).toBe("reached 1");
      await expect(reachUrl(`http://${name}:${other.port}`, host.token)).rejects.toMatchObject({
        code: "denied",
        message: expect.stringContaining(
          `add "${name}:${other.port}" to \`allowedHosts\``,
        ) as string,
      });
    }
  },
);

test(
  "[K45] no command falls for a relay that host.json names, in the agent's folder and away from it",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    await Provider.start(home, dir, { steps: [], then: "Mine." });
    const host = await StartedHost.start(home, dir);
    const { stdout } = await home.run(["info", dir, "--json"]);
    const { state } = JSON.parse(stdout) as { state: string };
    await using relay = await Relay.before(host.url);
    const file = { url: relay.url, pid: host.running.child.pid };
    await writeFile(join(state, "host.json"), JSON.stringify(file));
    const commands = [
      ["invoke", "x", dir],
      ["invoke", "x"],
      ["send", "x", dir],
      ["sessions", dir],
      ["watch", "s", dir],
      ["cancel", "s", dir],
      ["approve", dir],
      ["info", dir],
      ["doctor", dir],
      ["start", dir, "--port", "0"],
    ];
    for (const args of commands) {
      const running = home.start(args);
      await relay.outwaits(running);
      await running.stop("SIGKILL");
      expect(relay.stolen, args.join(" ")).toEqual([]);
      expect(running.stderr).not.toContain(host.token);
    }
  },
);
