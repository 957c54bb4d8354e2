// What every provider of a mesh keeps to.

import { expect, test } from "vitest";
import type { MeshProvider } from "../../src/access/index.ts";
import type { HandClock } from "../access/rig.ts";

/** A mesh as a test has it. */
export interface World {
  readonly self: { readonly id: string; readonly name: string };
  readonly networks: readonly {
    readonly label: string;
    readonly addrs: readonly string[];
    readonly state?: "up" | "down";
  }[];
  readonly nodes: readonly {
    readonly id: string;
    readonly name: string;
    readonly network: string;
    readonly addrs: readonly string[];
  }[];
}

export interface ProviderKit extends Disposable {
  readonly clock: HandClock;
  /** What the provider's source says from now on; undefined: it is down. */
  set(world: World | undefined): void;
  open(): Promise<MeshProvider>;
}

const laptop = {
  id: "key-1",
  name: "laptop",
  network: "home",
  addrs: ["fd00::1:2", "198.18.0.2"],
};
const world: World = {
  self: { id: "key-0", name: "here" },
  networks: [
    { label: "home", addrs: ["fd00::1:1", "198.18.0.1"] },
    { label: "away", addrs: ["fd00::2:1"] },
    { label: "left", addrs: [] },
    { label: "off", addrs: ["fd00::3:1"], state: "down" },
  ],
  nodes: [laptop],
};

/** `self` is an address of the machine itself; `alone` has nobody else near. */
export function describeProvider(
  name: string,
  create: () => ProviderKit,
  { self = "fd00::1:1", alone = false }: { readonly self?: string; readonly alone?: boolean } = {},
): void {
  const use = async (
    body: (provider: MeshProvider, kit: ProviderKit) => Promise<void>,
    first: World | undefined = world,
  ) => {
    using kit = create();
    kit.set(first);
    const provider = await kit.open();
    try {
      await body(provider, kit);
    } finally {
      provider.close();
    }
  };
  const who = async (provider: MeshProvider, address: string, network?: string) => {
    const found = await provider.whoIs(address, network);
    if (found.kind === "node")
      return `${found.node.name} (${found.node.id}) in ${found.network.label}`;
    return found.kind;
  };

  test(`[DV18] ${name}: an address of its own is this machine's, and one that nobody has is never`, () =>
    use(async (provider) => {
      expect(await who(provider, self)).toBe("self");
      for (const address of ["203.0.113.9", "fd00::ffff", "", "here", "0.0.0.0", "::", "ff02::1"])
        expect(await who(provider, address), address).toBe("unknown");
      expect(await who(provider, self, "no such network")).toBe("unknown");
      expect(provider.self()?.networks.length).toBeGreaterThan(0);
    }));
  if (alone) return;

  test(`[DV18] ${name}: a peer is known by each of its addresses, however they are written`, () =>
    use(async (provider) => {
      for (const address of [
        "fd00::1:2",
        "FD00:0:0:0:0:0:1:2",
        "fd00::0001:0002%mesh0",
        "198.18.0.2",
        "::ffff:198.18.0.2",
        "::ffff:c612:2",
      ])
        expect(await who(provider, address), address).toBe("laptop (key-1) in home");
      expect(await who(provider, "::ffff:198.18.0.1")).toBe("self");
      expect(await who(provider, "198.18.0.2", provider.self()?.networks[1]?.id)).toBe("unknown");
    }));

  test(`[DV18] ${name}: a peer that is renamed stays who it is`, () =>
    use(async (provider, kit) => {
      kit.set({ ...world, nodes: [{ ...laptop, name: "old laptop" }] });
      await told(provider, kit);
      expect(await who(provider, "fd00::1:2")).toBe("old laptop (key-1) in home");
    }));

  test(`[DV18] ${name}: one name in two networks is two peers`, () =>
    use(
      async (provider) => {
        expect(await who(provider, "fd00::1:2")).toBe("laptop (key-1) in home");
        expect(await who(provider, "fd00::2:2")).toBe("laptop (key-2) in away");
        expect(provider.peers().map(({ id }) => id)).toEqual(["key-1", "key-2"]);
      },
      {
        ...world,
        nodes: [laptop, { id: "key-2", name: "laptop", network: "away", addrs: ["fd00::2:2"] }],
      },
    ));

  test(`[DV18] ${name}: a network without an address, or that is down, makes no trouble and has nobody`, () =>
    use(
      async (provider) => {
        expect(await who(provider, "fd00::3:1")).toBe("unknown");
        expect(await who(provider, "fd00::3:2")).toBe("unknown");
        expect(await who(provider, "fd00::1:2")).toBe("laptop (key-1) in home");
      },
      {
        ...world,
        nodes: [laptop, { id: "key-3", name: "far", network: "off", addrs: ["fd00::3:2"] }],
      },
    ));

  test(`[DV11] ${name}: one that is down at first knows nobody, says why, and is there once it is back`, async () => {
    using kit = create();
    kit.set(undefined);
    const provider = await kit.open();
    expect(provider.self()).toBeUndefined();
    expect(await who(provider, "fd00::1:1")).toBe("unknown");
    expect(provider.problem()).toMatch(/\w/);
    kit.set(world);
    await told(provider, kit);
    expect(await who(provider, "fd00::1:1")).toBe("self");
    expect(provider.problem()).toBeUndefined();
    provider.close();
  });

  test(`[DV11] ${name}: one that goes down later keeps to what it said last, says why, and goes on once it is back`, () =>
    use(async (provider, kit) => {
      kit.set(undefined);
      await told(provider, kit);
      expect(provider.problem()).toMatch(/\w/);
      expect(await who(provider, "fd00::1:2")).toBe("laptop (key-1) in home");
      expect(await who(provider, "fd00::ffff")).toBe("unknown");
      kit.set({ ...world, nodes: [] });
      await told(provider, kit);
      expect(provider.problem()).toBeUndefined();
      expect(await who(provider, "fd00::1:2")).toBe("unknown");
    }));

  test(`[DV10] ${name}: a peer that is new has its name with its first request`, () =>
    use(async (provider, kit) => {
      const phone = { id: "key-4", name: "phone", network: "home", addrs: ["fd00::1:4"] };
      kit.set({ ...world, nodes: [laptop, phone] });
      const asked = ["fd00::1:4", "fd00::1:4", "fd00::1:5"].map((it) => who(provider, it));
      expect(await Promise.all(asked)).toEqual([
        "phone (key-4) in home",
        "phone (key-4) in home",
        "unknown",
      ]);
    }));

  test(`[DV10] ${name}: who was unknown a moment ago is looked for again a second later, or once anything changes`, () =>
    use(async (provider, kit) => {
      expect(await who(provider, "fd00::1:4")).toBe("unknown");
      const phone = { id: "key-4", name: "phone", network: "home", addrs: ["fd00::1:4"] };
      kit.set({ ...world, nodes: [laptop, phone] });
      expect(await who(provider, "fd00::1:4")).toBe("unknown");
      kit.clock.ms += 1_000;
      expect(await who(provider, "fd00::1:4")).toBe("phone (key-4) in home");
    }));

  test(`[DV10] ${name}: 10,000 peers are as quick to tell apart as two`, () =>
    use(
      async (provider) => {
        const begun = performance.now();
        for (let at = 0; at < 10_000; at++) {
          const found = await provider.whoIs(addressOf(at));
          if (found.kind !== "node" || found.node.id !== `key-${at}`) expect(found).toBe(at);
        }
        // 0.2 ms each is a hundred times what it takes.
        expect(performance.now() - begun).toBeLessThan(2_000);
        expect(provider.peers()).toHaveLength(10_000);
      },
      {
        ...world,
        self: { id: "self", name: "here" },
        nodes: Array.from({ length: 10_000 }, (_, at) => ({
          ...{ id: `key-${at}`, name: `peer ${at}`, network: "home" },
          addrs: [addressOf(at)],
        })),
      },
    ));
}

function addressOf(at: number): string {
  return `fd01::${(at + 1).toString(16)}`;
}

/** Lets the provider look, and waits until it says that something has changed. */
async function told(provider: MeshProvider, kit: ProviderKit): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = provider.watch(resolve);
  kit.clock.advance(60_000);
  await promise;
  stop();
}
