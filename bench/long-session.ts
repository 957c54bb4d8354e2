// Figure 3: what readers and writers of a session of a million entries wait for, against one of a thousand.

import { join } from "node:path";
import { Child } from "./child.ts";
import type { BenchContext, Figure, Reading } from "./figure.ts";
import { makeLongSessions } from "./large-store.ts";
import { interleaved } from "./statistics.ts";

const operations = {
  read: "read of the newest 200 entries",
  resume: "a watch resumed 100 entries behind",
  admit: "an admission",
  search: "a search with at least `limit` hits",
} as const;

export const longSessionFigure: Figure = {
  number: 3,
  title: "A session of 1,000,000 entries against one of 1,000",
  measure,
};

async function measure(context: BenchContext): Promise<readonly Reading[]> {
  const rounds = context.isQuick ? 3 : 15;
  const lengths = { long: context.isQuick ? 20_000 : 1_000_000, short: 1_000 };
  const together = join(context.folder, "together.db");
  const apart = { long: join(context.folder, "long.db"), short: join(context.folder, "short.db") };
  await makeLongSessions(together, lengths);
  await makeLongSessions(apart.long, { long: lengths.long });
  await makeLongSessions(apart.short, { short: lengths.short });
  context.note(`made sessions of ${lengths.long} and ${lengths.short} entries`);

  const readings: Reading[] = [];
  const add = async (what: string, long: () => Promise<number>, short: () => Promise<number>) => {
    const { ratio, first, second } = await interleaved(rounds, long, short);
    const detail = { longMs: first, shortMs: second };
    readings.push({ what, measured: ratio, bound: "at most", target: 2, unit: "x", detail });
  };
  const start = (as: string, store?: string) =>
    Child.start(context, "long-side.ts", { as, arguments: store === undefined ? [] : [store] });
  const child = start("figure-3", together);
  for (const [name, what] of Object.entries(operations))
    await add(
      what,
      () => child.ask<number>(name, "long"),
      () => child.ask<number>(name, "short"),
    );
  await child.stop();
  const opener = start("figure-3-reopen");
  await add(
    "reopening the store",
    () => opener.ask<number>("reopen", apart.long),
    () => opener.ask<number>("reopen", apart.short),
  );
  await opener.stop();
  return readings;
}
