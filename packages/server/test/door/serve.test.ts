import { connect, createServer } from "node:net";
import { basename } from "node:path";
import { describe, expect, test } from "vitest";
import { serveHost } from "../../src/host/serve.ts";
import { openAgentRig } from "./agent-rig.ts";
import { openRig, openStream, sendRequest } from "./rig.ts";

const fetch = () => new Response("here");

describe("the listener", () => {
  test("[H18] a port that is taken is no failure: a free one is taken, and the holder named", async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, "127.0.0.1", resolve));
    const address = holder.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const served = await serveHost({ fetch, port });
    expect(served.port).not.toBe(port);
    expect(served.taken?.port).toBe(port);
    if (process.platform === "linux")
      expect(served.taken?.holder).toContain(`(process ${process.pid})`);
    expect((await sendRequest(served.port, "/", {})).text).toBe("here");
    await served.close({ graceMs: 0 });
    await new Promise((resolve) => holder.close(resolve));
    expect(basename(served.url)).toBe(`127.0.0.1:${served.port}`);
  });

  test("[H18] a host listens on loopback alone unless told otherwise", async () => {
    const served = await serveHost({ fetch, port: 0 });
    expect([...served.listensAs].toSorted()).toEqual([
      `127.0.0.1:${served.port}`,
      `[::1]:${served.port}`,
      `localhost:${served.port}`,
    ]);
    await served.close({ graceMs: 0 });
  });

  test("[H18] an address that is not this computer's is refused", async () => {
    await expect(serveHost({ fetch, port: 0, bind: "192.0.2.1" })).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringMatching(/no address 192\.0\.2\.1 .*EADDRNOTAVAIL.*--bind/),
    });
  });

  test("[H17] what is not HTTP, or has headers without end, is refused in the form of every refusal", async () => {
    await using rig = await openRig();
    const nonsense = await rig.raw("\x16\x03\x01\x02\x00\x01\r\n\r\n");
    expect(nonsense).toMatch(/^HTTP\/1.1 400 /);
    expect(nonsense).toContain('{"error":{"code":"invalid"');
    const host = `host: 127.0.0.1:${rig.served.port}\r\n`;
    const huge = await rig.raw(`GET /health HTTP/1.1\r\n${host}x: ${"y".repeat(100_000)}\r\n\r\n`);
    expect(huge).toMatch(/^HTTP\/1.1 431 /);
    expect(huge).toContain('{"error":{"code":"too_large"');
    const spaced = await rig.raw(`GET /health HTTP/1.1\r\n${host}a b: c\r\n\r\n`);
    expect(spaced).toMatch(/^HTTP\/1.1 400 /);
  });

  test("[H17] two lengths, or a length beside chunks, smuggle no second request", async () => {
    await using rig = await openRig();
    const host = `host: 127.0.0.1:${rig.served.port}\r\n`;
    for (const lengths of [
      "content-length: 5\r\ncontent-length: 6\r\n",
      "content-length: 5\r\ntransfer-encoding: chunked\r\n",
      "transfer-encoding: chunked, identity\r\n",
    ]) {
      const answer = await rig.raw(
        `POST /login HTTP/1.1\r\n${host}${lengths}\r\n0\r\n\r\nGET /health HTTP/1.1\r\n${host}\r\n`,
      );
      expect(answer, lengths).toMatch(/^HTTP\/1.1 400 /);
      expect(answer.match(/HTTP\/1.1 /g), lengths).toHaveLength(1);
    }
  });

  test("[H17] an upgrade that no route offers is refused", async () => {
    await using rig = await openRig();
    const answer = await rig.raw(
      `GET /events HTTP/1.1\r\nhost: 127.0.0.1:${rig.served.port}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1.1 404 /);
  });

  test("[H17] clients that stop in mid-request hold up nobody", async () => {
    await using rig = await openRig();
    const stuck = await Promise.all(
      Array.from({ length: 50 }, () => {
        const { promise, resolve } = Promise.withResolvers<ReturnType<typeof connect>>();
        const socket = connect(rig.served.port, "127.0.0.1", () => {
          socket.write(`POST /login HTTP/1.1\r\nhost: 127.0.0.1:${rig.served.port}\r\n`);
          resolve(socket);
        });
        return promise;
      }),
    );
    expect((await rig.ask("/health")).status).toBe(503);
    for (const socket of stuck) socket.destroy();
  });

  test("[H32] however many connections are held open in silence or in mid-request, who knows the token is answered, and streams live", async () => {
    await using rig = await openAgentRig();
    const host = `host: 127.0.0.1:${rig.served.port}`;
    await using stream = await openStream(rig.served.port, "/events", { token: rig.tokens.owner });
    await stream.until("baseline");
    let ended = 0;
    const enough = Promise.withResolvers<void>();
    const open = (said: string) => {
      const { promise, resolve } = Promise.withResolvers<ReturnType<typeof connect>>();
      const socket = connect(rig.served.port, "127.0.0.1", () => {
        socket.write(said, () => resolve(socket));
      });
      socket.on("error", () => {});
      socket.once("close", () => {
        ended++;
        if (ended >= 3 * 700 - 1_024) enough.resolve();
      });
      return promise;
    };
    const half = `POST /login HTTP/1.1\r\n${host}\r\n`;
    const slow = `${half}content-type: application/json\r\ncontent-length: 9\r\n\r\n{`;
    const held = [];
    for (const said of ["\r\n", half, slow])
      held.push(...(await Promise.all(Array.from({ length: 700 }, () => open(said)))));
    await enough.promise;
    const made = { json: { requestId: "r", session: "made-meanwhile" } };
    expect((await rig.ask("/agents/a/sessions", made)).status).toBe(201);
    await stream.until("made-meanwhile");
    for (const socket of held) socket.destroy();
  });
});
