import { challengeHost } from "@lichen/server/node";
import { expect, test } from "vitest";
import { AccessRig } from "./rig.ts";

test("[DV42] a machine proves itself to a device by the device's key, at its own address alone, and to no other device by it", async () => {
  await using rig = await AccessRig.open();
  const { id: device, key } = await rig.pair("laptop");
  const other = await rig.pair("tablet");
  const proofOf = async (token: string, asked: string, url = rig.host.url) => {
    const heard = await challengeHost(url, { timeoutMs: 10_000, device: asked });
    return heard.answer === "host" ? heard.proof(token) : heard.answer;
  };
  expect(await proofOf(key, device)).toBe("vouched");
  expect(await proofOf(other.key, device)).toBe("none");
  expect(await proofOf(rig.host.token, device)).toBe("none");
  // A name that the host only answers to is passed on by whoever likes.
  expect(await proofOf(key, device, `http://localhost:${rig.port}`)).toBe("known");
  expect(await proofOf(key, "dev_nobody")).toBe("none");
  expect((await rig.ask(`/v1/devices/${device}`, { method: "DELETE" })).status).toBe(204);
  expect(await proofOf(key, device)).toBe("none");
});

test("[DV42] of a device that is not known nothing is proven, and its id is taken in one form", async () => {
  await using rig = await AccessRig.open();
  const { id } = await rig.pair("laptop");
  const challenge = "n".repeat(43);
  const ask = (query: string) => rig.ask(`/health?${query}`, { token: null });
  const known = await ask(`challenge=${challenge}&device=${id}`);
  const unknown = await ask(`challenge=${challenge}&device=dev_x`);
  expect(Object.keys(JSON.parse(known.text) as object)).toContain("vouch");
  expect(Object.keys(JSON.parse(unknown.text) as object)).not.toContain("proof");
  expect((await ask(`challenge=${challenge}&device=a%20b`)).status).toBe(400);
  // Neither is the owner's token proven by a name that tokens have.
  const owner = await ask(`challenge=${challenge}&device=owner`);
  expect(Object.keys(JSON.parse(owner.text) as object)).not.toContain("proof");
});
