// What every connector keeps, of whatever kind: held against one that `open` makes, with something that it can do.

import { inspect } from "node:util";
import type { Auth, CallContext, Connector, JsonObject } from "@lichen/capability";
import { describe, expect, test } from "vitest";

export const canary = "canary-contract-token";

export interface Opened extends AsyncDisposable {
  /** Made with a resolver that answers `auth()`, which counts. */
  readonly connector: Connector;
  /** An operation that works, and what it takes. */
  readonly works: { readonly operation: string; readonly input: JsonObject };
  /** One that does not end by itself, where the kind has any. */
  readonly hangs?: { readonly operation: string; readonly input: JsonObject };
}

/** `isOutbound`: its calls leave the host with auth. */
export function connectorContract(
  kind: string,
  open: (auth: () => Auth) => Promise<Opened>,
  { isOutbound }: { readonly isOutbound: boolean },
): void {
  describe(kind, () => {
    test("[M70] lists operations with a name of their own, a label, and a schema of an object", async () => {
      await using opened = await open(bearer);
      const { connector } = opened;
      const operations = await connector.operations(soon());
      expect(operations.length).toBeGreaterThan(0);
      expect(new Set(operations.map(({ name }) => name)).size).toBe(operations.length);
      for (const { input, label, description } of operations) {
        expect(input["type"]).toBe("object");
        expect(["read", "write"]).toContain(label);
        expect(typeof description).toBe("string");
      }
      expect(JSON.stringify(await connector.operations(soon()))).toBe(JSON.stringify(operations));
      expect(connector.kind).toBe(kind);
    });

    test("[M70] does what it lists; an unknown operation and an input that does not fit are refused with a code", async () => {
      await using opened = await open(bearer);
      const { connector, works } = opened;
      await connector.operations(soon());
      const value = await connector.call(works.operation, works.input, contextOf());
      expect(() => JSON.stringify(value)).not.toThrow();
      for (const [operation, input] of [
        ["no such operation", {}],
        ["constructor", {}],
        [works.operation, { "no such field": 1 }],
      ] as const) {
        const refused = connector.call(operation, input, contextOf());
        await expect(refused, operation).rejects.toMatchObject({
          name: "OperationError",
          code: expect.stringMatching(/^[a-z][a-z0-9_]*$/),
        });
        await refused.catch((error: Error) => expect(told(error)).not.toContain(canary));
      }
    });

    test("[M70] a call whose signal has fired ends soon, before it did anything or in the middle", async () => {
      await using opened = await open(bearer);
      const { connector, works, hangs } = opened;
      await connector.operations(soon());
      const gone = AbortSignal.abort(new Error("stopped"));
      await expect(
        connector.call(works.operation, works.input, contextOf({ signal: gone })),
      ).rejects.toBeDefined();
      if (!hangs) return;
      const stop = new AbortController();
      const call = connector.call(hangs.operation, hangs.input, contextOf({ signal: stop.signal }));
      stop.abort(new Error("stopped"));
      await expect(call).rejects.toBeDefined();
    });

    test("[M70] asks for auth at each call and keeps none of it", async () => {
      let asked = 0;
      const auth = () => {
        asked++;
        return bearer();
      };
      await using opened = await open(auth);
      const { connector, works } = opened;
      await connector.operations(soon());
      const before = asked;
      const resolve = async () => ({ ok: true, auth: auth() }) as const;
      await connector.call(works.operation, works.input, contextOf({ resolve }));
      const between = asked;
      await connector.call(works.operation, works.input, contextOf({ resolve }));
      if (isOutbound) {
        expect(between).toBeGreaterThan(before);
        expect(asked).toBeGreaterThan(between);
      } else expect(asked).toBe(0);
      expect(inspect(connector, { depth: 8, showHidden: true })).not.toContain(canary);
    });

    test("[M70] can be closed, and closed again", async () => {
      await using opened = await open(bearer);
      const { connector, works } = opened;
      await connector.call(works.operation, works.input, contextOf());
      await connector.close?.();
      await connector.close?.();
    });
  });
}

function bearer(): Auth {
  return { kind: "oauth", token: canary, version: "1" };
}

const soon = () => AbortSignal.timeout(20_000);

function contextOf(changes: Partial<CallContext> = {}): CallContext {
  return {
    signal: soon(),
    resolve: async () => ({ ok: true, auth: bearer() }),
    image: ({ mediaType, bytes }) => ({ image: 1, mediaType, bytes: bytes.length }),
    progress: () => {},
    display: () => {},
    ...changes,
  };
}

function told(error: Error): string {
  return `${error.stack} ${inspect(error, { depth: 8, showHidden: true })} ${JSON.stringify(error)}`;
}
