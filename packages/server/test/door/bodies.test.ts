import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { openAgentRig } from "./agent-rig.ts";
import { refused } from "./rig.ts";

const commands = "/agents/a/sessions/s/commands";
const prompt = { type: "prompt", requestId: "r", text: "x" };

describe("bodies", () => {
  test("[H8] a body that does not say it is JSON is refused, whatever it holds", async () => {
    await using rig = await openAgentRig();
    for (const type of [
      undefined,
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "application/jsonp",
      "text/plain; application/json",
    ])
      expect(
        refused(
          await rig.ask(commands, {
            body: JSON.stringify(prompt),
            headers: type === undefined ? {} : { "content-type": type },
          }),
        ),
        String(type),
      ).toMatchObject({ status: 415, code: "unsupported_media" });
    for (const type of ["application/json", "Application/JSON; charset=utf-8"])
      expect(
        (
          await rig.ask(commands, {
            body: JSON.stringify(prompt),
            headers: { "content-type": type },
          })
        ).status,
      ).toBeLessThan(300);
  });

  test("[H8] a body over the cap is refused and names the cap, with a length announced and without", async () => {
    await using rig = await openAgentRig();
    const over = (bytes: number) =>
      JSON.stringify({ requestId: "x".repeat(bytes - JSON.stringify({ requestId: "" }).length) });
    const { port } = rig.served;
    for (const [path, cap] of [
      ["/agents/a/sessions", 1_048_576],
      [commands, 16_777_216],
      ["/agents/a/invoke", 16_777_216],
    ] as const) {
      const body = over(cap + 1);
      const announced = await rig.ask(path, {
        body,
        headers: { "content-type": "application/json" },
      });
      expect(refused(announced)).toMatchObject({ status: 413, code: "too_large" });
      expect(refused(announced).message).toContain(String(cap));
      const chunked = await rig.ask(path, {
        body,
        headers: { "content-type": "application/json", "transfer-encoding": "chunked" },
      });
      expect(refused(chunked)).toMatchObject({ status: 413, code: "too_large" });
      // Just under the cap it is read, and refused for what it says.
      const under = await rig.ask(path, {
        body: over(cap),
        headers: { "content-type": "application/json", "transfer-encoding": "chunked" },
      });
      expect(refused(under)).toMatchObject({ status: 400, code: "invalid" });
    }
    // A length alone is enough: the body is never waited for.
    const head = `POST ${commands} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${rig.tokens.owner}\r\ncontent-type: application/json\r\n`;
    const early = await rig.raw(`${head}content-length: 99999999999\r\nconnection: close\r\n\r\n`);
    expect(early).toMatch(/^HTTP\/1.1 413 /);
  });

  test("[H8] a body without end is cut at the cap, and costs no more", async () => {
    await using rig = await openAgentRig();
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    let sent = 0;
    let received = "";
    const socket = connect(rig.served.port, "127.0.0.1", () => {
      socket.write(
        `POST ${commands} HTTP/1.1\r\nhost: 127.0.0.1:${rig.served.port}\r\nauthorization: Bearer ${rig.tokens.owner}\r\n` +
          "content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
      );
      const chunk = Buffer.from(`10000\r\n${"x".repeat(65_536)}\r\n`);
      const more = () => {
        while (!socket.destroyed && sent < 512 * 1_048_576) {
          sent += 65_536;
          if (!socket.write(chunk)) {
            socket.once("drain", more);
            return;
          }
        }
      };
      more();
    });
    socket.on("data", (data: Buffer) => (received += data.toString("latin1")));
    socket.on("error", () => {});
    socket.on("close", () => resolve());
    await closed;
    expect(received).toMatch(/^HTTP\/1.1 413 /);
    expect(sent).toBeLessThan(256 * 1_048_576);
  });

  test("[H8] a body that stops half-way admits nothing, and the host goes on", async () => {
    await using rig = await openAgentRig();
    const text = JSON.stringify(prompt);
    for (const framing of [
      `content-length: ${text.length}\r\n\r\n${text.slice(0, 10)}`,
      `transfer-encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n`,
    ]) {
      const { promise: closed, resolve } = Promise.withResolvers<void>();
      const socket = connect(rig.served.port, "127.0.0.1", () => {
        socket.end(
          `POST ${commands} HTTP/1.1\r\nhost: 127.0.0.1:${rig.served.port}\r\nauthorization: Bearer ${rig.tokens.owner}\r\n` +
            `content-type: application/json\r\n${framing}`,
        );
      });
      socket.on("error", () => {});
      socket.on("close", () => resolve());
      socket.resume();
      await closed;
    }
    expect((await rig.ask("/agents/a/sessions/s")).status).toBe(404);
    expect(rig.bugs).toEqual([]);
  });

  test("[H8] what is not JSON, not UTF-8, nothing or too deep is refused as invalid", async () => {
    await using rig = await openAgentRig();
    const headers = { "content-type": "application/json" };
    for (const body of [
      "",
      "{",
      "null",
      "[]",
      '"text"',
      "{'type':'prompt'}",
      `${JSON.stringify(prompt)} trailing`,
      Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
      `{"type":"answer","requestId":"r","approvalId":"apr_x","allow":true,"input":${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}}`,
      "[".repeat(900_000),
    ])
      expect(
        refused(await rig.ask(commands, { method: "POST", body, headers })),
        String(body).slice(0, 40),
      ).toMatchObject({ status: 400, code: "invalid" });
    expect(rig.bugs).toEqual([]);
  });

  test("[H29] a text over 1 MiB is refused as too large and named, beside images too; the body's cap is for images", async () => {
    await using rig = await openAgentRig();
    const over = "x".repeat(1_048_577);
    const images = [{ mimeType: "image/png", data: "iVBORw0KGgo=" }];
    for (const [path, body, name] of [
      [commands, { ...prompt, text: over }, "text:"],
      [commands, { ...prompt, text: over, images }, "text:"],
      [commands, { type: "line", requestId: "r", text: over }, "text:"],
      [commands, { type: "compact", requestId: "r", instructions: over }, "instructions:"],
      ["/agents/a/invoke", { session: "s", text: over, images }, "text:"],
    ] as const) {
      const answer = refused(await rig.ask(path, { json: body }));
      expect(answer).toMatchObject({ status: 413, code: "too_large" });
      expect(answer.message).toMatch(new RegExp(`^${name} `));
    }
    expect((await rig.ask("/agents/a/sessions")).json()).toEqual({ sessions: [] });
    const large = [{ mimeType: "image/png", data: `iVBORw0KGgoA${"A".repeat(6 * 1_048_576)}` }];
    expect((await rig.ask(commands, { json: { ...prompt, images: large } })).status).toBe(202);
  });

  test("[H29] an image that is none is refused at both routes, and the field is named with its place", async () => {
    await using rig = await openAgentRig();
    const good = { mimeType: "image/png", data: "iVBORw0KGgo=" };
    for (const data of ["", "AAAA", "no base64!", "R0lGODlh"])
      for (const [path, body] of [
        [commands, prompt],
        ["/agents/a/invoke", { session: "s", text: "x" }],
      ] as const) {
        const images = [good, { mimeType: "image/png", data }];
        const answer = refused(await rig.ask(path, { json: { ...body, images } }));
        expect(answer).toMatchObject({ status: 400, code: "invalid" });
        expect(answer.message).toMatch(/^images\.1\.data: not /);
      }
    expect((await rig.ask("/agents/a/sessions")).json()).toEqual({ sessions: [] });
  });

  test("[H9] an unknown or wrong field is refused and named, in every body", async () => {
    await using rig = await openAgentRig();
    for (const [path, method, body, name] of [
      [commands, "POST", { ...prompt, meta: {} }, '"meta"'],
      [commands, "POST", { ...prompt, text: 7 }, "text"],
      [commands, "POST", { ...prompt, text: "\ud800" }, "text"],
      [commands, "POST", { ...prompt, delivery: "later" }, "delivery"],
      [commands, "POST", { type: "shout", requestId: "r" }, "type"],
      [commands, "POST", { type: "abort" }, "requestId"],
      [commands, "POST", { type: "abort", requestId: "" }, "requestId"],
      [commands, "POST", { type: "abort", requestId: "a\nb" }, "requestId"],
      [commands, "POST", { type: "abort", requestId: "x".repeat(257) }, "requestId"],
      [commands, "POST", { type: "cancel", requestId: "r", commandId: "ent_1" }, "commandId"],
      [
        commands,
        "POST",
        { ...prompt, images: [{ mimeType: "image/svg+xml", data: "" }] },
        "images",
      ],
      [
        commands,
        "POST",
        { type: "answer", requestId: "r", approvalId: "apr_x", allow: "yes" },
        "allow",
      ],
      ["/agents/a/sessions", "POST", { requestId: "r", name: "x" }, '"name"'],
      ["/agents/a/sessions", "POST", { requestId: "r", session: ".." }, "session"],
      ["/agents/a/sessions", "POST", { requestId: "r", reasoning: "much" }, "reasoning"],
      ["/agents/a/sessions/s", "PATCH", { state: "idle" }, '"state"'],
      ["/agents/a/sessions/s", "PATCH", { leaf: "cmd_x" }, "entry id"],
      ["/agents/a/sessions/s/fork", "POST", { requestId: "r", at: 4 }, "at"],
      ["/agents/a/sessions/s/withdraw", "POST", { requestId: "r", also: 1 }, '"also"'],
      ["/agents/a/invoke", "POST", { session: "s", text: "x", meta: {} }, '"meta"'],
      ["/agents/a/invoke", "POST", { session: "s", text: 1 }, "text"],
      ["/login", "POST", { token: "t", user: "u" }, '"user"'],
    ] as const) {
      const answer = refused(await rig.ask(path, { method, json: body }));
      expect(answer, JSON.stringify(body)).toMatchObject({ status: 400, code: "invalid" });
      expect(answer.message).toContain(name);
    }
    const poisoned = await rig.ask(commands, {
      body: '{"type":"abort","requestId":"r","__proto__":{"admin":true}}',
      headers: { "content-type": "application/json" },
    });
    expect(refused(poisoned).message).toContain("__proto__");
    expect((await rig.ask("/agents/a/sessions")).json()).toEqual({ sessions: [] });
  });

  test("[H9] what is wrong with a field is said in plain words", async () => {
    await using rig = await openAgentRig();
    await rig.agent.create({ requestId: "r", session: "s" });
    for (const [path, body, message] of [
      ["/agents/a/sessions?limit=0", undefined, "limit: must be at least 1"],
      ["/agents/a/sessions?limit=201", undefined, "limit: must be at most 200"],
      ["/agents/a/sessions/s/search?q=", undefined, "q: must have at least 1 character"],
      ["/agents/a/sessions/s/search", undefined, "q: missing"],
      [commands, { type: "shout", requestId: "r" }, 'type: must be one of "prompt"'],
      [commands, { type: "prompt", requestId: "r" }, "text: missing"],
      [commands, { ...prompt, text: 7 }, "text: must be a text"],
      [commands, { ...prompt, delivery: "later" }, "delivery: must be "],
      [
        commands,
        { type: "answer", requestId: "r", approvalId: "apr_x", allow: 1 },
        "allow: must be true or false",
      ],
      [
        "/agents/a/sessions",
        { requestId: "r", title: "x".repeat(1_001) },
        "title: must have at most 1000 characters",
      ],
    ] as const) {
      const asked = body === undefined ? {} : { method: "POST", json: body };
      const answer = refused(await rig.ask(path, asked));
      expect(answer).toMatchObject({ status: 400, code: "invalid" });
      expect(answer.message.startsWith(message), answer.message).toBe(true);
    }
  });

  test("[H9] a query with an unknown, repeated or wrong parameter is refused and the parameter named", async () => {
    await using rig = await openAgentRig();
    await rig.agent.create({ requestId: "r", session: "s" });
    const session = "/agents/a/sessions/s";
    for (const [path, name] of [
      ["/agents?all=1", '"all"'],
      ["/agents/a/sessions?limit=201", "limit"],
      ["/agents/a/sessions?limit=0", "limit"],
      ["/agents/a/sessions?limit=1e2", "limit"],
      ["/agents/a/sessions?limit=-1", "limit"],
      ["/agents/a/sessions?limit=", "limit"],
      ["/agents/a/sessions?limit=5&limit=6", '"limit"'],
      ["/agents/a/sessions?before=nonsense", "before"],
      [`${session}?before=0`, "before"],
      [`${session}?before=x`, "before"],
      [`${session}?after=1`, '"after"'],
      [`${session}/settlement`, "commandId"],
      [`${session}/settlement?commandId=cmd_x&timeoutMs=30001`, "timeoutMs"],
      [`${session}/settlement?commandId=cmd_x&timeoutMs=1.5`, "timeoutMs"],
      [`${session}/search`, "q"],
      [`${session}/search?q=`, "q"],
      [`${session}/search?q=x&limit=1000`, "limit"],
      [`${session}/events?after=nonsense`, "after"],
      [`${session}/events?after=e.-1`, "after"],
      [`${session}/events?since=1`, '"since"'],
      [`${session}/blobs/nonsense`, "sha256"],
      [`${session}/blobs/${"A".repeat(64)}`, "sha256"],
      [`${session}/blobs/${"0".repeat(64)}?download=1`, '"download"'],
      ["/events?after=x", "after"],
    ] as const) {
      const answer = refused(await rig.ask(path));
      expect(answer, path).toMatchObject({ status: 400, code: "invalid" });
      expect(answer.message, path).toContain(name);
    }
    const bad = await rig.ask(`${session}/events`, { headers: { "last-event-id": "1;2" } });
    expect(refused(bad)).toMatchObject({ status: 400, code: "invalid" });
  });

  test("[H9] an epoch given to a deletion is checked, in its form and in its value", async () => {
    await using rig = await openAgentRig();
    const { info } = await rig.agent.create({ requestId: "r", session: "s" });
    const path = "/agents/a/sessions/s";
    const remove = (query: string) => rig.ask(path + query, { method: "DELETE" });
    expect(refused(await remove("?epoch=a%20b"))).toMatchObject({ status: 400, code: "invalid" });
    expect(refused(await remove("?epoch=other"))).toMatchObject({ status: 409, code: "stale" });
    expect((await remove(`?epoch=${info.epoch}`)).status).toBe(204);
    expect((await remove("")).status).toBe(204);
  });
});

describe("names in paths", () => {
  test("[H10] any valid session id travels in a path, decoded exactly once", async () => {
    await using rig = await openAgentRig();
    for (const session of [
      "a/b",
      "a%2Fb",
      "%2e%2e",
      "..a",
      "x?y#z",
      "ü 🌱",
      "C:\\x",
      "'; drop table session; --",
      "<script>",
      "a&b=c",
      "...",
      "+",
      "x".repeat(256),
    ]) {
      const path = `/agents/a/sessions/${encodeURIComponent(session)}`;
      const made = await rig.ask("/agents/a/sessions", { json: { requestId: session, session } });
      expect(made.status, session).toBe(201);
      const read = (await rig.ask(path)).json() as { session: { session: string } };
      expect(read.session.session).toBe(session);
      const sent = await rig.ask(`${path}/commands`, {
        json: { type: "line", requestId: "l", text: "x" },
      });
      expect(sent.status, session).toBe(202);
    }
  });

  test("[H10] a path that climbs, hides a slash or breaks its encoding reaches nothing else", async () => {
    await using rig = await openAgentRig();
    await rig.agent.create({ requestId: "r", session: "s" });
    for (const [path, statuses] of [
      ["/agents/a/sessions/%2e%2e", [400, 404]],
      ["/agents/a/sessions/..%2f..%2fevents", [404]],
      ["/agents/a/sessions/%2e%2e%2f%2e%2e", [404]],
      ["/agents/a/sessions/%2e", [400, 404]],
      ["/agents/a/sessions/s/../../../../etc/passwd", [404]],
      ["/agents/a/sessions/s%00", [400]],
      ["/agents/a/sessions/a%0d%0ax-evil:%201", [400]],
      ["/agents/a/sessions/%ff", [400]],
      ["/agents/a/sessions/%c0%ae%c0%ae", [400]],
      ["/agents/a/sessions/%", [400]],
      ["/agents/a/sessions/%zz", [400]],
      ["/agents/a/sessions/%ed%a0%80", [400]],
      [`/agents/a/sessions/${"x".repeat(257)}`, [400]],
      ["/agents/..%2f/sessions", [400]],
      ["/agents/a%20b/sessions", [400]],
      ["/agents\\a\\sessions\\s", [400, 404]],
      ["/%2e%2e/%2e%2e/etc/passwd", [404]],
    ] as const) {
      const raw = await rig.raw(
        `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${rig.served.port}\r\nauthorization: Bearer ${rig.tokens.owner}\r\nconnection: close\r\n\r\n`,
      );
      const status = Number(/^HTTP\/1.1 (\d+)/.exec(raw)?.[1]);
      expect(statuses as readonly number[], path).toContain(status);
      expect(raw.toLowerCase(), path).not.toContain("\r\nx-evil");
      expect(raw, path).toContain('{"error":{"code":');
    }
    expect(rig.bugs).toEqual([]);
  });

  test("[H10] what a caller names comes back in no header, and in a message only as JSON", async () => {
    await using rig = await openAgentRig();
    const session = 'evil"\u2028</script><script>alert(1)</script>';
    const answer = await rig.ask(`/agents/a/sessions/${encodeURIComponent(session)}`);
    expect(answer.status).toBe(404);
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.headers["x-content-type-options"]).toBe("nosniff");
    expect(JSON.stringify(answer.headers)).not.toContain("script");
    expect(() => answer.json()).not.toThrow();
  });
});
