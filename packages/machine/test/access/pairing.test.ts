import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodePlatform } from "@lichen/runtime/node";
import { describe, expect, test } from "vitest";
import { Attempts } from "../../src/devices/attempts.ts";
import { Devices } from "../../src/devices/devices.ts";
import { Pairing } from "../../src/devices/pairing.ts";
import { AccessRig, HandClock } from "./rig.ts";

describe("pairing", () => {
  test("[DV4] an owner gets a code in an address, a device brings it once and is an owner's from then on", async () => {
    await using rig = await AccessRig.open();
    const offer = await rig.ask("/v1/pair", { json: {} });
    expect(offer.status).toBe(201);
    const { id, code, url, expires_at } = offer.body;
    expect(code).toMatch(/^[0-9a-z]{26}$/);
    expect(url).toBe(`${rig.host.url}/pair#${code}`);
    expect(Date.parse(expires_at) - Date.now()).toBeLessThanOrEqual(300_000);
    const waiting = rig.ask(`/v1/pair/${id}?timeout_ms=30000`);
    const claimed = await rig.ask("/v1/pair/claim", { json: { code, name: "phone" }, token: null });
    expect(claimed.status).toBe(201);
    expect(claimed.body).toEqual({
      device: expect.objectContaining({ name: "phone", kind: "owner" }),
      key: expect.any(String),
    });
    // Who waits for it is told who came.
    expect((await waiting).body).toMatchObject({
      state: "claimed",
      device: { name: "phone" },
      from: "127.0.0.1",
    });
    expect((await waiting).text).not.toContain(code);
    expect((await rig.ask("/v1/sessions", { token: claimed.body.key })).status).toBe(200);
  });

  test("[DV4] of two that bring one code at once, one becomes a device", async () => {
    await using rig = await AccessRig.open();
    const { body } = await rig.ask("/v1/pair", { json: {} });
    const answers = await Promise.all(
      ["one", "two", "three"].map((name) =>
        rig.ask("/v1/pair/claim", { json: { code: body.code, name }, token: null }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 401, 401]);
    expect((await rig.ask("/v1/devices")).body.devices).toHaveLength(1);
  });

  test("[DV4] the owner decides what a device is called and may do; the device is not asked", async () => {
    await using rig = await AccessRig.open();
    const { body } = await rig.ask("/v1/pair", { json: { name: "Ann's phone", kind: "viewer" } });
    const claim = (json: object) => rig.ask("/v1/pair/claim", { json, token: null });
    expect((await claim({ code: body.code, kind: "owner" })).status).toBe(400);
    const claimed = await claim({ code: body.code, name: "Bob" });
    expect(claimed.body.device).toMatchObject({ name: "Ann's phone", kind: "viewer" });
    const send = { json: { name: "x", dir: "~/x" }, token: claimed.body.key };
    expect((await rig.ask("/v1/sessions", send)).status).toBe(403);
  });

  test("[DV4] a code that could not be used because of a name is good for another name", async () => {
    await using rig = await AccessRig.open();
    await rig.pair("phone");
    const { body } = await rig.ask("/v1/pair", { json: {} });
    const claim = (name: string) =>
      rig.ask("/v1/pair/claim", { json: { code: body.code, name }, token: null });
    expect((await claim("Phone")).status).toBe(409);
    expect((await claim("other phone")).status).toBe(201);
  });

  test("[DV4] at most five codes are live, each for five minutes; a sixth ends the oldest of them, whose owner is told", async () => {
    await using kit = await openKit();
    const { pairing, clock } = kit;
    const offers = Array.from({ length: 5 }, () => pairing.offer({}));
    const [first, second, third] = offers.map(({ code, state }) => ({ code, id: state.id }));
    const waiting = pairing.state(first!.id, { timeoutMs: 30_000 });
    const sixth = pairing.offer({});
    expect(await waiting).toMatchObject({ state: "ended" });
    expect(() => pairing.claim({ code: first!.code, name: "a" })).toThrow(/not good/);
    // One that is withdrawn makes room.
    pairing.withdraw(second!.id);
    expect(await pairing.state(second!.id)).toMatchObject({ state: "ended" });
    expect(() => pairing.claim({ code: second!.code, name: "a" })).toThrow(/not good/);
    pairing.offer({});
    expect(await pairing.state(third!.id)).toMatchObject({ state: "waiting" });
    clock.advance(299_999);
    expect(pairing.claim({ code: sixth.code, name: "in time" }).device.name).toBe("in time");
    const late = pairing.state(third!.id, { timeoutMs: 30_000 });
    clock.advance(1);
    expect(await late).toMatchObject({ state: "ended" });
    expect(() => pairing.claim({ code: third!.code, name: "late" })).toThrow(/not good/);
  });

  test("[DV5] a wrong code, a used one and one that is over are refused with the same words", async () => {
    await using rig = await AccessRig.open();
    const { body: used } = await rig.ask("/v1/pair", { json: {} });
    const { body: over } = await rig.ask("/v1/pair", { json: {} });
    const claim = (code: string) =>
      rig.ask("/v1/pair/claim", { json: { code, name: "phone" }, token: null });
    expect((await claim(used.code)).status).toBe(201);
    expect((await rig.ask(`/v1/pair/${over.id}`, { method: "DELETE" })).status).toBe(204);
    const answers = [await claim(used.code), await claim(over.code), await claim("x".repeat(26))];
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
    expect(answers[0]!.body.error).toMatch(/ask the machine's owner for a new one/);
  });

  test("[DV6] a code can be brought without a credential, and nothing else can be done without one", async () => {
    await using rig = await AccessRig.open();
    for (const [path, method] of [
      ["/v1/pair", "POST"],
      ["/v1/pair/pair_x", "GET"],
      ["/v1/pair/claim/more", "POST"],
      ["/v1/devices", "GET"],
      ["/v1/devices/dev_x", "DELETE"],
    ] as const)
      expect((await rig.ask(path, { method, token: null })).status, path).toBe(
        path === "/v1/pair/claim/more" ? 404 : 401,
      );
    expect((await rig.ask("/v1/pair/claim", { token: null })).status).toBe(405);
  });

  test("[DV6] an address brings ten wrong codes a minute, which hold up neither others nor a good code from there", async () => {
    await using rig = await AccessRig.open();
    const claim = (code = "x", name = "phone") =>
      rig.ask("/v1/pair/claim", { json: { code, name }, token: null });
    for (let at = 0; at < 10; at++) expect((await claim()).status).toBe(401);
    const refused = await claim();
    expect(refused.status).toBe(429);
    expect(refused.body.error).toMatch(/try again in \d+ seconds/);
    const before = await rig.ask("/v1/pair", { json: {} });
    // Somebody behind the same address goes on with wrong ones.
    const wrong = Array.from({ length: 50 }, () => claim());
    expect((await claim(before.body.code)).status).toBe(201);
    expect(new Set((await Promise.all(wrong)).map(({ status }) => status))).toEqual(new Set([429]));
    // One that is used up is as wrong as any other.
    expect((await claim(before.body.code, "other")).status).toBe(429);
    const next = await rig.ask("/v1/pair", { json: {} });
    expect((await claim(next.body.code, "other")).status).toBe(201);
  });

  test("[DV6] attempts are counted by address, those of one network of IPv6 together", () => {
    const clock = new HandClock();
    const attempts = new Attempts({ now: clock.now, most: 2, everyMs: 60_000 });
    expect([attempts.take("10.0.0.1"), attempts.take("10.0.0.1")]).toEqual([0, 0]);
    expect(attempts.take("10.0.0.1")).toBe(60_000);
    expect(attempts.take("::ffff:10.0.0.1")).toBe(60_000);
    expect(attempts.take("10.0.0.2")).toBe(0);
    // Who has a network of IPv6 has all its addresses.
    expect([attempts.take("fd00:1::1"), attempts.take("fd00:1::2:3")]).toEqual([0, 0]);
    expect(attempts.take("fd00:1:0:0:9::1%eth0")).toBe(60_000);
    expect(attempts.take("fd00:2::1")).toBe(0);
    clock.advance(60_000);
    expect(attempts.take("10.0.0.1")).toBe(0);
  });

  test("[DV6] addresses without end are counted together, and a minute later each for itself again", () => {
    const clock = new HandClock();
    const attempts = new Attempts({ now: clock.now, most: 2, everyMs: 60_000 });
    const waits = Array.from({ length: 3_000 }, (_, at) =>
      attempts.take(`10.0.${at >> 8}.${at & 255}`),
    );
    expect(waits.filter((ms) => ms === 0)).toHaveLength(1_026);
    clock.advance(60_000);
    expect(attempts.take("10.9.9.9")).toBe(0);
  });
});

async function openKit() {
  const root = mkdtempSync(join(tmpdir(), "lichen-pairing-"));
  const clock = new HandClock();
  const platform = { ...nodePlatform({ report: () => {} }), now: clock.now, after: clock.after };
  const devices = await Devices.open({ path: join(root, "devices.db"), platform });
  return {
    clock,
    pairing: new Pairing({ devices, platform }),
    [Symbol.asyncDispose]: async () => {
      devices.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
