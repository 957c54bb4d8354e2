// The law of leases, over the real file: whatever happens in whatever order, only the newest holder writes.

import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Lease } from "../../src/auth/token-store.ts";
import { Renewals } from "../../src/auth/renewal.ts";
import { agentId, mail, signal, withRig } from "./rig.ts";

const leaseMs = 100;

const step = fc.oneof(
  fc.record({ kind: fc.constant("lease" as const), owner: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ kind: fc.constantFrom("renewed" as const, "release" as const), of: fc.nat(20) }),
  fc.record({ kind: fc.constantFrom("put" as const, "clear" as const) }),
  fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 150 }) }),
);

test("[V22] in every order of leases, renewals, sign-ins and time, only the newest holder writes, and no version comes twice", () =>
  withRig(async ({ credentials, signedIn, clock }) => {
    const login = signedIn();
    const store = credentials.of(agentId);
    let run = 0;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const id = `capability-${run++}`;
        const leases: Lease[] = [];
        const versions: number[] = [];
        let holder: Lease | undefined;
        let until = 0;
        for (const one of steps)
          switch (one.kind) {
            case "lease": {
              const taken = store.lease(id, `owner-${one.owner}`, clock.now, leaseMs);
              const isFree = holder === undefined || until <= clock.now;
              expect("owner" in taken).toBe(isFree);
              if (!("owner" in taken)) break;
              expect(leases.every(({ fence }) => fence < taken.fence)).toBe(true);
              leases.push(taken);
              holder = taken;
              until = clock.now + leaseMs;
              break;
            }
            case "renewed":
            case "release": {
              const lease = leases[one.of];
              if (!lease) break;
              if (one.kind === "release") store.release(lease);
              else {
                const stored = store.renewed(lease, login);
                expect(stored !== undefined).toBe(lease === holder);
                if (stored) versions.push(stored.version);
              }
              if (lease === holder) holder = undefined;
              break;
            }
            case "put":
              versions.push(store.put(id, login).version);
              holder = undefined;
              break;
            case "clear":
              store.clear(id);
              expect(store.read(id)).toBeUndefined();
              holder = undefined;
              break;
            case "pass":
              clock.now += one.ms;
              break;
          }
        expect(versions).toEqual([...new Set(versions)].toSorted((a, b) => a - b));
      }),
      { numRuns: 60 },
    );
  }));

test(
  "[V22] what a renewal brought is not lost where another process writes for long meanwhile",
  { timeout: 60_000 },
  () =>
    withRig(async ({ credentials, signedIn, clock, path }) => {
      const login = signedIn();
      const store = credentials.of(agentId);
      using other = new DatabaseSync(path);
      const renewals = new Renewals({
        store,
        now: () => clock.now,
        wait: async () => other.exec("rollback"),
        randomId: (length) => "r".repeat(length),
        deadline: () => new AbortController().signal,
      });
      const tokens = { ...login.tokens, access: "renewed-access" };
      const renewed = await renewals.renew(
        mail.id,
        store.read(mail.id)?.version,
        async () => {
          other.exec("begin immediate");
          return { ...login, tokens };
        },
        signal,
      );
      expect(renewed).toMatchObject({ login: { tokens } });
      expect(store.read(mail.id)).toMatchObject({ tokens });
    }),
);
