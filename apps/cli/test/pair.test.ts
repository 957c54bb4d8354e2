import { expect, test } from "vitest";
import { StartedMachine } from "./machine.ts";
import { Home } from "./process.ts";

// Many processes, on a computer that may be busy.
const slow = { timeout: 240_000 };

test(
  "[UP12] pair shows a code and its address, tells of the device that used it, and devices sends it away",
  slow,
  async () => {
    await using home = await Home.make();
    const machine = await StartedMachine.start(home);
    const pairing = home.start(["pair", "--name", "phone"]);
    const url = await pairing.until(({ stdout }) => /^(http:\S+\/pair#\S+)$/m.exec(stdout)?.[1]);
    expect(pairing.stdout).toMatch(/^[\u2580-\u259f █▀▄ \n]{100}/u);
    await pairing.until(({ stderr }) => /this computer alone.*--bind/s.exec(stderr) ?? undefined);
    const code = new URL(url).hash.slice(1);
    const claim = await machine.ask("/v1/pair/claim", { code });
    const { device, key } = (await claim.json()) as { device: { id: string }; key: string };
    expect((await pairing.ended).code).toBe(0);
    expect(pairing.stderr).toContain(`phone is paired, from 127.0.0.1`);
    expect(pairing.stderr).toContain(`lichen devices revoke ${device.id}`);

    const asDevice = async () =>
      (
        await fetch(new URL("/v1/sessions", machine.url), {
          headers: { authorization: `Bearer ${key}` },
        })
      ).status;
    expect(await asDevice()).toBe(200);
    const { stdout } = await home.run(["devices"]);
    expect(stdout).toMatch(new RegExp(`^${device.id} +phone +owner +seen now\n$`));
    expect(await home.run(["devices", "revoke", device.id])).toMatchObject({ code: 0 });
    expect(await asDevice()).toBe(401);
    const gone = await home.run(["devices", "revoke", device.id]);
    expect(gone.code).toBe(1);
    expect(gone.stderr).toContain("There is no device");
    expect((await home.run(["devices", "revoke", "phone"])).code).toBe(2);
    expect((await home.run(["devices", "--json"])).stdout).toBe("[]\n");
  },
);

test("[UP12] Ctrl-C takes a code back", slow, async () => {
  await using home = await Home.make();
  const machine = await StartedMachine.start(home);
  const pairing = home.start(["pair", "--json"]);
  const { code } = JSON.parse(await pairing.firstLine()) as { code: string };
  expect(await pairing.stop("SIGINT")).toBe(130);
  expect((await machine.ask("/v1/pair/claim", { code, name: "late" })).status).not.toBe(201);
});
