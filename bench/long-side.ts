// The measured process of figure 3: times one operation on a session, in milliseconds.
//
//   long-side.ts [STORE]     with a store, holds it open

import type { Frame, Session } from "@lichen/runtime";
import { answerParent } from "./child.ts";
import { openLichen } from "./open-lichen.ts";
import { median } from "./statistics.ts";

const behind = 100;
const repeats = 10;
const store = process.argv[2];
const opened = store === undefined ? undefined : await openLichen(store);
let sent = 0;

function session(id: string): Session {
  if (!opened) throw new Error("This child holds no store open.");
  return opened.agent.session(id);
}

/** The median of a few in a row: what a warm one takes. */
async function timed(work: () => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat++) {
    const began = performance.now();
    await work();
    times.push(performance.now() - began);
  }
  return median(times);
}

function expect(isSo: boolean, what: string): void {
  if (!isSo) throw new Error(`Expected ${what}.`);
}

async function resumeOnce(target: Session, after: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let entries = 0;
  const frame = ({ type }: Frame): boolean => {
    expect(type !== "baseline" && type !== "reset", "a resume without a baseline");
    if (type === "entry" && ++entries === behind) resolve();
    return true;
  };
  const subscription = target.observe({ frame, end: () => resolve() }, { after });
  await promise;
  subscription.close();
}

answerParent({
  read: (id: string) =>
    timed(async () => {
      const { entries } = await session(id).read({ limit: 200 });
      expect(entries.length === 200, "200 entries");
    }),
  resume: async (id: string) => {
    const { epoch, head } = await session(id).info();
    return timed(() => resumeOnce(session(id), `${epoch}.${head - behind}`));
  },
  admit: async (id: string) => {
    let admitting = 0;
    for (let repeat = 0; repeat < repeats; repeat++) {
      const requestId = `bench-${++sent}`;
      const began = performance.now();
      const receipt = await session(id).send({
        type: "prompt",
        requestId,
        text: "And the next row?",
      });
      admitting += performance.now() - began;
      await session(id).readSettlement(receipt.commandId!, { timeoutMs: 30_000 });
    }
    return admitting / repeats;
  },
  search: (id: string) =>
    timed(async () => {
      const { found } = await session(id).search({ q: "harvest of", limit: 50 });
      expect(found.length === 50, "50 hits");
    }),
  reopen: async (path: string) => {
    const began = performance.now();
    const { close } = await openLichen(path);
    const took = performance.now() - began;
    await close();
    return took;
  },
});
