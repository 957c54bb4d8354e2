import { describe, expect, test } from "vitest";
import { openRig, refused } from "./rig.ts";

// A host that still starts answers 503 to whoever passes its guard, so that 403 is the guard's own word.
const passed = 503;

describe("the guard", () => {
  test("[H1] a request with a foreign Host is refused on every route, /health and unknown ones included", async () => {
    await using rig = await openRig();
    const paths = ["/health", "/login", "/agents", "/events", "/agents/a/sessions/s", "/nothing"];
    for (const path of paths) {
      const answer = await rig.ask(path, { headers: { host: `evil.example:${rig.served.port}` } });
      expect(refused(answer)).toMatchObject({ status: 403, code: "denied" });
    }
  });

  test("[H1] a name that a foreign DNS points at loopback is refused, and the token sent with it buys nothing", async () => {
    await using rig = await openRig();
    for (const host of [
      "rebind.example",
      `127.0.0.1.nip.example:${rig.served.port}`,
      `localhost.evil.example:${rig.served.port}`,
      `127.0.0.1:${rig.served.port + 1}`,
      "127.0.0.1",
      `localhost:${rig.served.port}@evil.example`,
      `127.0.0.1:${rig.served.port}.`,
      `localhost:${rig.served.port}, evil.example`,
      `0x7f000001:${rig.served.port}`,
    ]) {
      const answer = await rig.ask("/health", { headers: { host } });
      expect([400, 403], host).toContain(answer.status);
      expect(answer.text).not.toContain("starting");
    }
  });

  test("[H1] the names that the host listens as are let in, in any case of letters", async () => {
    await using rig = await openRig();
    const { port } = rig.served;
    for (const host of [
      `127.0.0.1:${port}`,
      `localhost:${port}`,
      `LocalHost:${port}`,
      `[::1]:${port}`,
    ])
      expect((await rig.ask("/health", { headers: { host } })).status, host).toBe(passed);
  });

  test("[H1] a second Host header does not help a foreign one in", async () => {
    await using rig = await openRig();
    const own = `127.0.0.1:${rig.served.port}`;
    for (const hosts of [
      ["evil.example", own],
      [own, "evil.example"],
    ]) {
      const head = hosts.map((host) => `host: ${host}\r\n`).join("");
      const answer = await rig.raw(`GET /health HTTP/1.1\r\n${head}connection: close\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1.1 4\d\d/);
    }
  });

  test("[H1] a request without a Host, or with an absolute address of another host, is refused", async () => {
    await using rig = await openRig();
    const own = `127.0.0.1:${rig.served.port}`;
    const without = await rig.raw("GET /health HTTP/1.0\r\n\r\n");
    expect(without).toMatch(/^HTTP\/1.1 4\d\d/);
    const absolute = await rig.raw(
      `GET http://evil.example/health HTTP/1.1\r\nhost: ${own}\r\nconnection: close\r\n\r\n`,
    );
    expect(absolute).toMatch(/^HTTP\/1.1 4\d\d/);
  });

  test("[H1] what stands in front is let in by allowedHosts and publicUrl", async () => {
    await using rig = await openRig({
      allowedHosts: ["Box.tail.example", "proxy.example:8443"],
      publicUrl: "https://lichen.example",
    });
    for (const [host, status] of [
      ["box.tail.example", passed],
      ["box.tail.example:9000", passed],
      ["proxy.example:8443", passed],
      ["proxy.example", 403],
      ["lichen.example", passed],
      ["sub.lichen.example", 403],
    ] as const)
      expect((await rig.ask("/health", { headers: { host } })).status, host).toBe(status);
  });

  test("[H2] a request from a page of another origin is refused on every route, whatever credential it brings", async () => {
    await using rig = await openRig();
    const { port } = rig.served;
    for (const origin of [
      "https://evil.example",
      "null",
      `http://localhost:${port + 1}`,
      `http://127.0.0.1:${port}.evil.example`,
      `http://127.0.0.1:${port}/`,
      `HTTP://127.0.0.1:${port}`,
      `file://127.0.0.1:${port}`,
      `http://user@127.0.0.1:${port}`,
      `http://localhost:${port}`,
      "",
    ])
      for (const path of ["/health", "/agents/a/sessions/s/commands"]) {
        const answer = await rig.ask(path, { json: {}, headers: { origin } });
        expect(refused(answer), origin).toMatchObject({ status: 403, code: "denied" });
      }
  });

  test("[H2] a page of the host's own origin is let in, also behind a proxy that ends the TLS", async () => {
    await using rig = await openRig({ publicUrl: "https://lichen.example" });
    const own = `http://127.0.0.1:${rig.served.port}`;
    expect((await rig.ask("/health", { headers: { origin: own } })).status).toBe(passed);
    const proxied = { host: "lichen.example", origin: "https://lichen.example" };
    expect((await rig.ask("/health", { headers: proxied })).status).toBe(passed);
    const mixed = { host: `127.0.0.1:${rig.served.port}`, origin: "https://lichen.example" };
    expect((await rig.ask("/health", { headers: mixed })).status).toBe(403);
  });

  test("[H2] a picture or script that another site's page asks for is refused by what the browser says of it", async () => {
    await using rig = await openRig();
    for (const [site, status] of [
      ["cross-site", 403],
      ["same-site", 403],
      ["same-origin", passed],
      ["none", passed],
    ] as const)
      expect((await rig.ask("/health", { headers: { "sec-fetch-site": site } })).status, site).toBe(
        status,
      );
  });

  test("[H2] a preflight of a foreign page gets no leave", async () => {
    await using rig = await openRig();
    const answer = await rig.ask("/agents/a/invoke", {
      method: "OPTIONS",
      headers: { origin: "https://evil.example", "access-control-request-method": "POST" },
    });
    expect(answer.status).toBe(403);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-control"))).toEqual(
      [],
    );
  });
});
