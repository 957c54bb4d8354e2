import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { AccessRig, rest } from "./rig.ts";

describe("the devices of an owner", () => {
  test("[DV1] a device's key is told once, has 256 bits, and no file holds it", async () => {
    await using rig = await AccessRig.open();
    const { id, key } = await rig.pair("phone");
    const other = await rig.pair("tablet");
    expect(key).toMatch(/^lichen_device_[0-9a-z]{50}$/);
    expect(other.key).not.toBe(key);
    const listed = await rig.ask("/v1/devices");
    expect(listed.body).toEqual({
      devices: [
        expect.objectContaining({ id, name: "phone", kind: "owner", last_seen: null }),
        expect.objectContaining({ id: other.id, name: "tablet" }),
      ],
    });
    expect(listed.text).not.toContain(key);
    expect(statSync(join(rig.stateDir, "devices.db")).mode & 0o077).toBe(0);
    for (const file of ["devices.db", "devices.db-wal", "host.db", "host.db-wal"])
      if (existsSync(join(rig.stateDir, file)))
        expect(readFileSync(join(rig.stateDir, file)).includes(key), file).toBe(false);
  });

  test("[DV1] a device and its key outlast the machine's process", async () => {
    const first = await AccessRig.open();
    const { id, key } = await first.pair("phone");
    await first.close();
    await using rig = await AccessRig.open({ root: first.root });
    const listed = await rig.ask("/v1/devices", { token: key });
    expect(listed.body.devices).toEqual([expect.objectContaining({ id, name: "phone" })]);
    expect(listed.body.devices[0]?.last_seen).not.toBeNull();
  });

  test("[DV2] a device that is sent away is nobody: by its key, by its cookie, after a restart", async () => {
    const first = await AccessRig.open();
    const { id, key } = await first.pair("phone");
    const login = await first.ask("/login", { json: { token: key }, token: null });
    const cookie = String(login.headers["set-cookie"]?.[0]).split(";")[0]!;
    const { page } = JSON.parse(login.text) as { page: string };
    const headers = { cookie, "lichen-page": page };
    const byCookie = () => first.ask("/v1/sessions", { token: null, headers });
    expect((await byCookie()).status).toBe(200);
    expect((await first.ask(`/v1/devices/${id}`, { method: "DELETE" })).status).toBe(204);
    expect((await first.ask("/v1/sessions", { token: key })).status).toBe(401);
    expect((await byCookie()).status).toBe(401);
    expect((await first.ask("/login", { json: { token: key }, token: null })).status).toBe(401);
    expect((await first.ask(`/v1/devices/${id}`, { method: "DELETE" })).status).toBe(404);
    await first.close();
    await using rig = await AccessRig.open({ root: first.root });
    expect((await rig.ask("/v1/sessions", { token: key })).status).toBe(401);
    expect((await rig.ask("/v1/devices")).body).toEqual({ devices: [] });
  });

  test("[DV2] what a device has under way ends when it is sent away: its streams and bodies that it has not sent whole", async () => {
    await using rig = await AccessRig.open();
    await rig.make("work");
    const { id, key } = await rig.pair("phone");
    const kept = await rig.pair("tablet");
    const stream = await rig.stream("/v1/sessions/work/events", { token: key });
    const others = await rig.stream("/v1/sessions/work/events", { token: kept.key });
    expect([stream.statusCode, others.statusCode]).toEqual([200, 200]);
    // The head of a message is admitted while its body is still on its way.
    const text = JSON.stringify({ text: "do it" });
    const slow = connect(rig.port, "127.0.0.1");
    const ended = new Promise((resolve) => slow.on("close", resolve));
    slow.on("error", () => {});
    slow.write(
      `POST /v1/sessions/work/messages HTTP/1.1\r\nhost: 127.0.0.1:${rig.port}\r\nauthorization: Bearer ${key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${text.length}\r\nexpect: 100-continue\r\n\r\n`,
    );
    expect(String((await once(slow, "data"))[0])).toMatch(/^HTTP\/1\.1 100 /);
    slow.write(text.slice(0, 5));
    expect((await rig.ask(`/v1/devices/${id}`, { method: "DELETE" })).status).toBe(204);
    slow.write(text.slice(5));
    await ended;
    await rest(stream);
    const { body } = await rig.ask("/v1/sessions", { token: kept.key });
    expect(body.sessions[0]).toMatchObject({ last_seq: 0, state: "idle" });
    others.destroy();
  });

  test("[DV2] a device can send itself away and is told that it is done", async () => {
    await using rig = await AccessRig.open();
    const { id, key } = await rig.pair("phone");
    const answer = await rig.ask(`/v1/devices/${id}`, { method: "DELETE", token: key });
    expect(answer.status).toBe(204);
    expect((await rig.ask("/v1/devices", { token: key })).status).toBe(401);
  });

  test("[DV2] a device that becomes a viewer loses what it had under way, and can change nothing any more", async () => {
    await using rig = await AccessRig.open();
    await rig.make("work");
    const { id, key } = await rig.pair("phone");
    const stream = await rig.stream("/v1/sessions/work/events", { token: key });
    const change = { method: "PATCH", json: { kind: "viewer" } };
    expect((await rig.ask(`/v1/devices/${id}`, change)).body).toMatchObject({ kind: "viewer" });
    await rest(stream);
    expect((await rig.ask("/v1/sessions", { token: key })).status).toBe(200);
    const back = { method: "PATCH", json: { kind: "owner" }, token: key };
    expect((await rig.ask(`/v1/devices/${id}`, back)).status).toBe(403);
    expect((await rig.ask("/v1/devices", { token: key })).status).toBe(403);
  });

  test("[DV3] a name that looks like another device's is refused, whatever it is made of", async () => {
    await using rig = await AccessRig.open();
    const { devices } = rig.access;
    devices.admit("Coco's Phone 10", "owner");
    for (const name of [
      "Coco's Phone 10",
      "coco's  phone 10",
      // Cyrillic, full width, an accent, a digit for a letter, another dash.
      "Сосо's Phone 10",
      "Ｃoco's Phone 10",
      "Cóco's Phone 10",
      "C0c0's Phone l0",
      "coco-s-phone-10",
    ])
      expect(() => devices.admit(name, "owner"), name).toThrow(/looks the same/);
    const { id } = devices.admit("tablet", "owner").device;
    const change = { method: "PATCH", json: { name: "СОСО's phone 10" } };
    expect((await rig.ask(`/v1/devices/${id}`, change)).status).toBe(409);
    // Its own name in another form is no other's.
    const own = { method: "PATCH", json: { name: "Tablet" } };
    expect((await rig.ask(`/v1/devices/${id}`, own)).body).toMatchObject({ name: "Tablet" });
  });

  test("[DV3] a name that hides something, says what its device is not, or is too long is refused", async () => {
    await using rig = await AccessRig.open();
    for (const name of [
      "",
      "   ",
      "pho\u200bne",
      "phone\u202egnp",
      "\u3164",
      "\ud800",
      "...",
      "x".repeat(65),
      "Auto-Approve",
      "auto approve",
      "аutо-аpprоve",
      "This Machine",
      "owner",
    ])
      expect(() => rig.access.devices.admit(name, "owner"), JSON.stringify(name)).toThrow(
        /^name: /,
      );
    expect((await rig.ask("/v1/devices")).body).toEqual({ devices: [] });
    await rig.pair(`${"ä".repeat(63)}🙂`);
  });

  test("[DV7] what a device does stands under its name, on either of the machine's APIs, and no header has a say in it", async () => {
    await using rig = await AccessRig.open();
    const { id } = await rig.make("work");
    const { key } = await rig.pair("phone");
    const lies = { by: "tablet", "x-by": "tablet", "x-forwarded-for": "10.0.0.1", from: "tablet" };
    const asked = { token: key, headers: lies };
    const send = (path: string, json: object, ask: object) => rig.ask(path, { json, ...ask });
    expect(await send("/v1/sessions/work/messages", { text: "one" }, asked)).toMatchObject({
      status: 202,
    });
    expect(
      await send(
        `/agents/${id}/sessions/main/commands`,
        { type: "prompt", requestId: "r2", text: "two" },
        asked,
      ),
    ).toMatchObject({ status: 202 });
    expect(
      await send("/v1/sessions/work/messages", { text: "three" }, { headers: lies }),
    ).toMatchObject({ status: 202 });
    const read = await rig.ask(`/agents/${id}/sessions/main`);
    const said = read.body.entries
      .filter((entry) => entry.kind === "command.queued")
      .map((entry) => entry.by);
    expect(said).toEqual(["phone", "phone", undefined]);
  });
});
