import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { HostFetch } from "../src/host-fetch.ts";
import { reachUrl } from "../src/reach-url.ts";
import { writeAgent } from "./agent.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";

/** Each of these starts several processes. */
const slow = { timeout: 90_000 };
const madeUp = `lichen_${"x".repeat(43)}`;

/** Something that listens and is no host; answers what it was told. */
async function stranger(port = 0): Promise<{ server: Server; url: string; heard: string[] }> {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    heard.push(`${request.url} ${request.headers.authorization ?? "no token"}`);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ status: "ok", wire: 1, features: [], proof: "0".repeat(64) }));
  });
  await new Promise<void>((resolve) => void server.listen(port, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard };
}

test("[K29] a host at an address is reached with its owner's token", slow, async () => {
  await using home = await Home.make();
  const host = await StartedHost.start(home, await writeAgent(home));
  const reached = await reachUrl(`${host.url}/?from=browser#x`, host.token);
  const { client, agents } = reached;
  expect(agents).toMatchObject([{ agent: await host.agent() }]);
  expect((await client.agent(agents[0]?.agent ?? "").sessions()).sessions).toEqual([]);
  await reached.close();
  await expect(reachUrl(host.url, madeUp)).rejects.toMatchObject({
    code: "unauthenticated",
    message: expect.stringContaining("the token was not sent") as string,
  });
});

test(
  "[K29] what is no address, no token, or no host at all is refused in a sentence",
  slow,
  async () => {
    const { server, url, heard } = await stranger();
    const page = createServer((_, response) => response.end("<html>"));
    await new Promise<void>((resolve) => void page.listen(0, "127.0.0.1", resolve));
    const pageUrl = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
    try {
      await expect(reachUrl(url, madeUp)).rejects.toMatchObject({ code: "unauthenticated" });
      await expect(reachUrl(pageUrl, madeUp)).rejects.toThrow(
        /is no Lichen host; nothing was told/,
      );
      for (const wrong of ["ftp://127.0.0.1", "127.0.0.1:7387", "here"])
        await expect(reachUrl(wrong, madeUp)).rejects.toThrow(/no address of a host/);
      await expect(reachUrl("http://me:secret@127.0.0.1", madeUp)).rejects.toThrow(
        /Leave the name/,
      );
      await expect(reachUrl(url, "two words")).rejects.toThrow(/The token is none/);
    } finally {
      server.close();
      page.close();
    }
    expect(heard).toEqual([expect.stringMatching(/^\/health\?challenge=\S+ no token$/)]);
    await expect(reachUrl(url, madeUp)).rejects.toThrow(/Nothing answers at/);
  },
);

test(
  "[K29] what takes a host's place after a break is sent a challenge alone, and the host goes on when it is back",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    const first = await StartedHost.start(home, dir);
    const reached = await reachUrl(first.url, first.token);
    const { client, agents } = reached;
    const frames = client.watchHost()[Symbol.asyncIterator]();
    expect((await frames.next()).value).toMatchObject({ type: "baseline" });
    await first.running.stop("SIGKILL");
    const port = Number(new URL(first.url).port);
    const { server, heard } = await stranger(port);
    expect((await frames.next()).value).toMatchObject({ type: "outage" });
    const session = client.agent(agents[0]?.agent ?? "").session("s");
    await expect(session.info()).rejects.toMatchObject({ code: "unavailable", retryable: true });
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
    const second = home.start(["start", dir, "--port", String(port), "--json"]);
    await second.firstLine();
    expect((await frames.next()).value).toMatchObject({ type: "back" });
    expect((await frames.next()).value).toMatchObject({ type: "reset" });
    expect(heard.length).toBeGreaterThan(0);
    for (const line of heard) expect(line).toMatch(/^\/health\?challenge=\S+ no token$/);
    await frames.return?.();
    await reached.close();
  },
);

test("[K12] a request waits for a host that went away as long as its patience lasts, and says so once", async () => {
  const said: string[] = [];
  const host = new HostFetch({
    reach: async () => ({ found: "none" }),
    patienceMs: 250,
    onBreak: () => said.push("gone"),
    onReturn: () => undefined,
  });
  const ask = () => host.fetch(`${host.url}/agents`, {});
  const fault = { code: "unavailable", retryable: false };
  await expect(ask()).rejects.toMatchObject(fault);
  await expect(ask()).rejects.toMatchObject(fault);
  expect(said).toEqual(["gone"]);
  host.close();
});
