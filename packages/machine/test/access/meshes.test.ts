import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { nodePlatform } from "@lichen/runtime/node";
import { openStaticProvider } from "../../src/access/index.ts";
import { AccessRig, rest, writeMeshes } from "./rig.ts";

const laptop = { id: "k1", name: "laptop", network: "home", addrs: ["127.0.0.3"] };
const base = {
  self: { id: "k0", name: "here" },
  networks: [{ label: "home", addrs: ["127.0.0.2"] }],
  nodes: [laptop],
};
const fromLaptop = { token: null, from: "127.0.0.3", to: "127.0.0.2" };

describe("a mesh that is written down", () => {
  test("[DV12] a file that says two things at once, or nothing that is known, is refused and says where", async () => {
    const dir = mkdtempSync(join(tmpdir(), "lichen-mesh-"));
    const platform = nodePlatform({ report: () => {} });
    const read = async (given: object | string) => {
      writeMeshes(dir, given);
      const provider = await openStaticProvider(dir, platform);
      provider.close();
      return provider;
    };
    const node = (more: object) => ({ ...base, nodes: [laptop, { ...laptop, ...more }] });
    const network = { label: "home", addrs: ["10.0.0.9"] };
    const cases: [object | string, RegExp][] = [
      ["{", /not JSON/],
      [{ ...base, extra: 1 }, /extra/i],
      [{ ...base, nodes: undefined }, /nodes/],
      [node({ id: "k2" }), /nodes\.1: 127\.0\.0\.3 is laptop's already/],
      [node({ id: "k2", addrs: ["::ffff:127.0.0.3"] }), /nodes\.1: 127\.0\.0\.3 is laptop's/],
      [node({ id: "k2", addrs: ["127.0.0.2"] }), /127\.0\.0\.2 is here's already/],
      [node({ id: "k0", addrs: [] }), /nodes\.1: its id is this machine's own/],
      [node({ network: "away" }), /nodes\.1: there is no network away/],
      [node({ addrs: [] }), /nodes\.1: it is in home already/],
      [{ ...base, networks: [network, network] }, /networks\.1: there is a network home already/],
      [node({ id: "k2", addrs: ["here"] }), /"here" is no address of a machine/],
      [node({ id: "k2", addrs: ["0.0.0.0"] }), /no address of a machine/],
      [node({ id: "k2", addrs: ["ff02::1"] }), /no address of a machine/],
      [node({ id: "k2", addrs: ["10.0.0.0/8"] }), /no address of a machine/],
    ];
    for (const [given, words] of cases) expect((await read(given)).problem()).toMatch(words);
    const two = { ...base, networks: [...base.networks, { label: "away", addrs: [] }] };
    const renamed = { ...laptop, name: "lap", network: "away", addrs: ["10.0.0.3"] };
    const twice = await read({ ...two, nodes: [laptop, renamed] });
    expect(twice.problem()).toMatch(/its id is laptop's/);
    const both = await read({ ...two, nodes: [laptop, { ...renamed, name: "laptop" }] });
    expect(both.problem()).toBeUndefined();
    expect(both.peers()).toMatchObject([
      { id: "k1", networks: [{ id: "home" }, { id: "away", addrs: ["10.0.0.3"] }] },
    ]);
    const guide = fileURLToPath(
      import.meta.resolve("../../../../docs/guides/machines-near-you.md"),
    );
    const example = /```json meshes.json\n(.*?)```/s.exec(readFileSync(guide, "utf8"))?.[1];
    const told = await read(example ?? "");
    expect(told.problem()).toBeUndefined();
    expect(await told.whoIs("10.9.0.3")).toMatchObject({ node: { name: "phone" } });
    rmSync(dir, { recursive: true });
  });

  test("[DV12] a file that others can change is not believed", async () => {
    await using rig = await AccessRig.open({ meshes: base });
    expect((await rig.ask("/v1/meshes")).body).toEqual({ meshes: ["home"] });
    writeMeshes(rig.stateDir, { ...base, nodes: [{ ...laptop, name: "desktop" }] });
    chmodSync(join(rig.stateDir, "meshes.json"), 0o666);
    // An address that nobody has yet has the file looked at.
    expect((await rig.ask("/v1/peers", { ...fromLaptop, from: "127.0.0.8" })).status).toBe(401);
    expect(rig.access.problems()).toEqual([expect.stringMatching(/can be changed by others/)]);
    expect((await rig.ask("/v1/peers")).body.peers).toMatchObject([{ name: "laptop" }]);
  });
});

describe("the meshes of a machine", () => {
  test("[DV16] who is near is told as older clients know it; keys only to who may admit devices", async () => {
    await using rig = await AccessRig.open({
      meshes: {
        ...base,
        networks: [
          ...base.networks,
          { label: "away", addrs: ["127.0.0.4"] },
          { label: "none", addrs: [] },
        ],
        nodes: [
          { ...laptop, addrs: ["127.0.0.3", "fd00::3"] },
          // What a machine calls itself moves nobody's terminal.
          {
            id: "k2",
            name: "la\u001bpt\u202eop",
            network: "away",
            addrs: ["127.0.0.5"],
            online: true,
          },
          { id: "k3", name: "lost", network: "none", addrs: ["127.0.0.6"] },
          { id: "k4", name: "dark", network: "home", addrs: [] },
        ],
      },
    });
    const { body } = await rig.ask("/v1/peers");
    expect(body).toEqual({
      peers: [
        { name: "laptop", mesh: "home", overlay: "fd00::3", id: "static:k1" },
        { name: "laptop", mesh: "away", overlay: "127.0.0.5", id: "static:k2", online: true },
      ],
    });
    expect((await rig.ask("/v1/meshes")).body).toEqual({ meshes: ["away", "home"] });
    const peer = await rig.ask("/v1/peers", fromLaptop);
    expect(peer.body).toEqual({ peers: [{ name: "laptop", mesh: "home", overlay: "fd00::3" }] });
    expect((await rig.ask("/v1/meshes", fromLaptop)).body).toEqual({ meshes: ["home"] });
  });

  test("[DV17] a peer that is enrolled is a device by the mesh's proof of its address; another is none", async () => {
    await using rig = await AccessRig.open({ meshes: base });
    expect((await rig.ask("/v1/sessions", fromLaptop)).status).toBe(403);
    const enrol = (json: object) => rig.ask("/v1/devices", { json });
    expect((await enrol({ peer: "static:none" })).status).toBe(400);
    expect((await enrol({ peer: "k1" })).status).toBe(400);
    const enrolled = await enrol({ peer: "static:k1" });
    expect(enrolled.body).toMatchObject({ name: "laptop.home", kind: "owner", peer: "static:k1" });
    expect((await enrol({ peer: "static:k1", name: "again" })).status).toBe(409);
    await rig.make("work");
    const sent = { json: { text: "hello" }, ...fromLaptop };
    expect((await rig.ask("/v1/sessions/work/messages", sent)).status).toBe(202);
    expect((await rig.ask("/v1/peers")).body.peers).toMatchObject([{ device: enrolled.body.id }]);
    // A key that is not known is nobody's, wherever it comes from.
    expect((await rig.ask("/v1/sessions", { ...fromLaptop, token: "x" })).status).toBe(401);
    // Its address on another way, and other addresses on this way, prove nothing.
    expect((await rig.ask("/v1/sessions", { ...fromLaptop, to: "127.0.0.1" })).status).toBe(401);
    expect((await rig.ask("/v1/sessions", { ...fromLaptop, from: "127.0.0.4" })).status).toBe(401);
    const lies = { "x-forwarded-for": "127.0.0.3", forwarded: "for=127.0.0.3" };
    const liar = { ...fromLaptop, from: "127.0.0.4", headers: lies };
    expect((await rig.ask("/v1/sessions", liar)).status).toBe(401);
    const gone = await rig.ask(`/v1/devices/${enrolled.body.id}`, { method: "DELETE" });
    expect(gone.status).toBe(204);
    expect((await rig.ask("/v1/sessions", fromLaptop)).status).toBe(403);
  });

  test("[DV14] a peer that is renamed stays the device that it is, and one that takes its name becomes nobody's", async () => {
    await using rig = await AccessRig.open({ meshes: base });
    await rig.ask("/v1/devices", { json: { peer: "static:k1" } });
    writeMeshes(rig.stateDir, {
      ...base,
      nodes: [
        { ...laptop, name: "old laptop" },
        { id: "k2", name: "laptop", network: "home", addrs: ["127.0.0.5"] },
      ],
    });
    const thief = { ...fromLaptop, from: "127.0.0.5" };
    expect((await rig.ask("/v1/sessions", thief)).status).toBe(403);
    expect((await rig.ask("/v1/sessions", fromLaptop)).status).toBe(200);
    // An address that another key has now is that one's.
    writeMeshes(rig.stateDir, { ...base, nodes: [{ ...laptop, id: "k9" }] });
    await rig.ask("/v1/sessions", { ...fromLaptop, from: "127.0.0.7" });
    expect((await rig.ask("/v1/sessions", fromLaptop)).status).toBe(403);
  });

  test("[DV17] what a peer has under way ends when its address is another's, and goes on while it is its own", async () => {
    await using rig = await AccessRig.open({ meshes: base });
    await rig.make("work");
    await rig.ask("/v1/devices", { json: { peer: "static:k1" } });
    const stream = await rig.stream("/v1/sessions/work/events", fromLaptop);
    let received = "";
    stream.on("data", (chunk: Buffer) => (received += chunk.toString()));
    const settle = () => rig.ask("/v1/sessions", { ...fromLaptop, from: "127.0.0.7" });
    writeMeshes(rig.stateDir, { ...base, nodes: [{ ...laptop, name: "renamed" }] });
    await settle();
    await rig.ask("/v1/sessions/work/messages", { json: { text: "still there?" } });
    while (!received.includes("still there?")) await new Promise((it) => stream.once("data", it));
    const ended = rest(stream);
    writeMeshes(rig.stateDir, { ...base, nodes: [{ ...laptop, id: "k2" }] });
    await rig.ask("/v1/sessions", { ...fromLaptop, from: "127.0.0.8" });
    await ended;
  });

  test("[DV15] a host that listens everywhere is reached in meshes that come later", async () => {
    await using rig = await AccessRig.open({
      bind: "0.0.0.0",
      meshes: { ...base, networks: [], nodes: [] },
    });
    writeMeshes(rig.stateDir, { ...base, networks: [{ label: "home", addrs: ["127.0.0.2"] }] });
    while (rig.access.urls().length === 0)
      await new Promise((resolve) => void setImmediate(resolve));
    expect(rig.access.problems()).toEqual([]);
    expect(rig.access.urls()).toEqual([`http://127.0.0.2:${rig.port}`]);
    expect((await rig.ask("/v1/peers", fromLaptop)).status).toBe(200);
  });

  test("[DV15] listeners come and go with the networks, and one address that cannot be had keeps none of the others", async () => {
    const holder = createServer().listen(0, "127.0.0.6");
    await new Promise((resolve) => holder.once("listening", resolve));
    const { port } = holder.address() as { port: number };
    await using rig = await AccessRig.open({ port, meshes: { ...base, networks: [], nodes: [] } });
    const urls = async (wanted: string[]) => {
      const deadline = Date.now() + 20_000;
      while (rig.access.urls().toSorted().join() !== wanted.join()) {
        if (Date.now() > deadline) throw new Error(rig.access.urls().join());
        await new Promise((resolve) => void setImmediate(resolve));
      }
    };
    expect(rig.access.urls()).toEqual([]);
    const network = (label: string, ...addrs: string[]) => ({ label, addrs });
    const networks = [
      network("home", "127.0.0.2"),
      network("taken", "127.0.0.6"),
      network("foreign", "192.0.2.1"),
      network("none"),
      // The host listens there itself.
      network("own", "127.0.0.1"),
    ];
    writeMeshes(rig.stateDir, { ...base, networks });
    await urls([`http://127.0.0.1:${port}`, `http://127.0.0.2:${port}`]);
    expect(rig.access.problems()).toEqual([
      expect.stringMatching(/127\.0\.0\.6:\d+ \(EADDRINUSE\)/),
      expect.stringMatching(/192\.0\.2\.1:\d+ \(EADDRNOTAVAIL\)/),
    ]);
    const health = await rig.ask("/health", {
      to: "127.0.0.2",
      headers: { host: `127.0.0.2:${port}` },
    });
    expect(health.status).toBe(200);
    const stream = await rig.stream("/events", {
      to: "127.0.0.2",
      headers: { host: `127.0.0.2:${port}` },
    });
    // A pairing code is for who is elsewhere.
    expect((await rig.ask("/v1/pair", { json: {} })).body.url).toMatch(
      `http://127.0.0.2:${port}/pair#`,
    );
    await new Promise((resolve) => holder.close(resolve));
    writeMeshes(rig.stateDir, {
      ...base,
      networks: [{ ...network("home", "127.0.0.2"), state: "down" }, network("taken", "127.0.0.6")],
      nodes: [],
    });
    await urls([`http://127.0.0.6:${port}`]);
    await rest(stream);
    await expect(rig.ask("/health", { to: "127.0.0.2" })).rejects.toThrow(/ECONNREFUSED/);
    expect((await rig.ask("/health")).status).toBe(200);
    expect(rig.access.problems()).toEqual([]);
  });

  test("[DV15] a machine serves the meshes that it is told to, and no other", async () => {
    const networks = [...base.networks, { label: "away", addrs: ["127.0.0.4"] }];
    await using rig = await AccessRig.open({
      meshes: { ...base, networks },
      only: ["away", "later"],
    });
    expect((await rig.ask("/v1/meshes")).body).toEqual({ meshes: ["away"] });
    expect(rig.access.urls()).toEqual([`http://127.0.0.4:${rig.port}`]);
    expect((await rig.ask("/v1/peers")).body).toEqual({ peers: [] });
  });

  test("[DV13] what comes over a network is asked of that network alone", async () => {
    const networks = [...base.networks, { label: "away", addrs: ["127.0.0.4"] }];
    const nodes = [laptop, { id: "k2", name: "thief", network: "away", addrs: ["127.0.0.3"] }];
    await using rig = await AccessRig.open({ meshes: { ...base, networks, nodes } });
    await rig.ask("/v1/devices", { json: { peer: "static:k1" } });
    expect((await rig.ask("/v1/sessions", fromLaptop)).status).toBe(200);
    const thief = { ...fromLaptop, to: "127.0.0.4" };
    expect((await rig.ask("/v1/sessions", thief)).status).toBe(403);
    // Two networks with one address of ours: over which of them it came cannot be told.
    const both = [...base.networks, { label: "away", addrs: ["127.0.0.2"] }];
    writeMeshes(rig.stateDir, { ...base, networks: both, nodes });
    await rig.ask("/v1/sessions", { ...fromLaptop, from: "127.0.0.7" });
    expect((await rig.ask("/v1/sessions", fromLaptop)).status).toBe(401);
  });
});
