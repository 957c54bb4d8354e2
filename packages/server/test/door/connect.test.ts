import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  challengeHost,
  connectHost,
  readHostFile,
  writeHostFile,
} from "../../src/host/host-file.ts";
import { openRig, type Rig } from "./rig.ts";

/** Somebody else's server, and every header it was ever sent. */
async function stranger(answer: RequestListener) {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(JSON.stringify(request.headers) + request.url);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    seen,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const pointTo = (rig: Rig, url: string) => writeHostFile(rig.stateDir, { url, pid: process.pid });

describe("finding a host", () => {
  test("[H19] a running host is found by its file, and proves that it knows the token", async () => {
    await using rig = await openRig();
    pointTo(rig, rig.served.url);
    expect(await connectHost(rig.stateDir)).toEqual({
      found: "host",
      url: rig.served.url,
      token: rig.tokens.owner,
      status: "starting",
    });
  });

  test("[H19] the file is private, appears whole and goes with a clean exit, but only if it is still this host's", async () => {
    await using rig = await openRig();
    const forget = pointTo(rig, rig.served.url);
    expect(statSync(join(rig.stateDir, "host.json")).mode & 0o777).toBe(0o600);
    expect(readHostFile(rig.stateDir)).toEqual({ url: rig.served.url, pid: process.pid });
    expect(readdirSync(rig.stateDir).toSorted()).toEqual(["host.json", "token"]);
    const forgetLater = pointTo(rig, "http://127.0.0.1:1");
    forget();
    expect(existsSync(join(rig.stateDir, "host.json"))).toBe(true);
    forgetLater();
    expect(existsSync(join(rig.stateDir, "host.json"))).toBe(false);
  });

  test("[H19] a stale, torn or missing file finds none", async () => {
    await using rig = await openRig();
    expect(await connectHost(rig.stateDir)).toEqual({ found: "none" });
    for (const text of ["", "{", "[]", '{"url":"file:///etc/passwd","pid":1}', '{"url":7}']) {
      writeFileSync(join(rig.stateDir, "host.json"), text);
      expect(await connectHost(rig.stateDir), text).toEqual({ found: "none" });
    }
    const gone = await stranger(() => {});
    await gone[Symbol.asyncDispose]();
    pointTo(rig, gone.url);
    expect(await connectHost(rig.stateDir)).toEqual({ found: "none" });
  });

  test("[H19] somebody else at the address is told apart and never sees the token", async () => {
    await using rig = await openRig();
    const answers: RequestListener[] = [
      (_, response) => response.end("hello"),
      (_, response) => response.end(JSON.stringify({ status: "ok", wire: 1, features: [] })),
      (_, response) => response.end(JSON.stringify({ status: "ok", proof: "0".repeat(64) })),
      (_, response) => response.end(JSON.stringify({ status: "ok", proof: "" })),
      (_, response) => response.writeHead(401).end(),
      (_, response) => response.end("x".repeat(100_000)),
    ];
    for (const answer of answers) {
      await using other = await stranger(answer);
      pointTo(rig, other.url);
      expect(await connectHost(rig.stateDir)).toEqual({ found: "stranger", url: other.url });
      expect(other.seen.join()).not.toContain(rig.tokens.owner);
    }
  });

  test("[H31] a listener that passes the challenge on to the true host is told no token", async () => {
    await using rig = await openRig({ allowedHosts: ["127.0.0.1"] });
    const { port } = rig.served;
    const hosts: ((dialled: string) => string)[] = [
      () => `127.0.0.1:${port}`,
      () => `localhost:${port}`,
      // Under its own name the relay is let in, since this host allows the name with any port.
      (dialled) => dialled,
    ];
    for (const hostOf of hosts) {
      const kept: string[] = [];
      await using relay = await stranger(({ url, headers }, response) => {
        const asked = { token: null, headers: { host: hostOf(headers.host ?? "") } };
        void rig.ask(url ?? "", asked).then((answer) => {
          kept.push(answer.text);
          response.writeHead(answer.status).end(answer.text);
        });
      });
      pointTo(rig, relay.url);
      expect(await connectHost(rig.stateDir)).toEqual({ found: "stranger", url: relay.url });
      expect(kept.join()).toContain('"proof"');
      expect(relay.seen.join()).not.toContain(rig.tokens.owner);
      const heard = await challengeHost(relay.url, { timeoutMs: 2_000 });
      expect(heard.answer === "host" && (await heard.proof(rig.tokens.owner))).toBe("known");
    }
  });

  test("[H31] what a host vouched for once is worth nothing for another challenge", async () => {
    await using rig = await openRig();
    pointTo(rig, rig.served.url);
    const before = await rig.ask(`/health?challenge=${"n".repeat(32)}`, { token: null });
    await using replay = await stranger((_, response) => response.end(before.text));
    pointTo(rig, replay.url);
    expect((await connectHost(rig.stateDir)).found).toBe("stranger");
  });

  test("[H19] a listener that never answers, or sends elsewhere, is given up in bounded time", async () => {
    await using rig = await openRig();
    await using silent = await stranger(() => {});
    pointTo(rig, silent.url);
    expect(await connectHost(rig.stateDir, { timeoutMs: 50 })).toEqual({ found: "none" });
    await using elsewhere = await stranger((request, response) =>
      response.writeHead(307, { location: rig.served.url + request.url }).end(),
    );
    pointTo(rig, elsewhere.url);
    expect((await connectHost(rig.stateDir)).found).not.toBe("host");
  });
});
