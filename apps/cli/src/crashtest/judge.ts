// The judgement: what was seen of a copy's lives, held against how its last life ended. Pure.
//
//   lost        a command that was answered, or an entry that was delivered, is missing or is another one
//   repeated    a command was admitted twice; a write that must run once began twice; or one that was declared
//               replay-safe ran to its end, ran again, and changed the folder once more
//   unfinished  the command did not settle in time, or the host did not open again
//   unknown     a write was interrupted, and the log says so: no error

import { canonicalJson, type Entry, known } from "@lichen/wire";
import type { Account } from "./job.ts";
import type { Seen } from "./witness.ts";

export interface Verdict {
  readonly lost: readonly string[];
  readonly repeated: readonly string[];
  readonly unfinished: readonly string[];
  readonly unknown: readonly string[];
}

export function judge(seen: readonly Seen[], last: Account): Verdict {
  return {
    lost: [...lostCommands(seen, last), ...lostEntries(seen, last)],
    repeated: [...repeatedCommands(last.entries), ...repeatedEffects(seen)],
    unfinished: last.settlement ? [] : ["the command did not settle in time"],
    unknown: unknownWrites(last),
  };
}

function lostCommands(seen: readonly Seen[], { entries }: Account): string[] {
  const lost: string[] = [];
  const answers = new Map<string, string>();
  for (const it of seen) {
    if (it.saw !== "receipt") continue;
    const { requestId, answer } = it;
    const earlier = answers.get(requestId);
    if (earlier === undefined) answers.set(requestId, answer);
    else if (earlier !== answer)
      lost.push(`${requestId} was answered ${earlier}, and ${answer} when it was sent again`);
  }
  const kept = new Set(["create", ...entries.flatMap(requestOf)]);
  for (const requestId of answers.keys())
    if (!kept.has(requestId)) lost.push(`${requestId} was answered and is not in the log`);
  return lost;
}

/** Which of the client's requests an entry keeps. */
function requestOf(it: Entry): string[] {
  const entry = known(it);
  if (entry?.kind === "approval.answered") return [`answer:${entry.data.approvalId}`];
  return entry?.requestId === undefined ? [] : [entry.requestId];
}

function lostEntries(seen: readonly Seen[], { epoch, entries }: Account): string[] {
  const now = new Map(entries.map((entry) => [entry.seq, canonicalJson(entry)]));
  const lost = seen.flatMap((it) => {
    if (it.saw !== "entry" || (it.epoch === epoch && now.get(it.seq) === it.text)) return [];
    const isThere = it.epoch === epoch && now.has(it.seq);
    return [
      `entry ${it.seq} (${it.kind}) was delivered and is ${isThere ? "another one" : "gone"}`,
    ];
  });
  return [...new Set(lost)];
}

function repeatedCommands(entries: readonly Entry[]): string[] {
  const queued = Map.groupBy(
    entries.filter(({ kind }) => kind === "command.queued"),
    ({ requestId }) => requestId,
  );
  return [...queued].flatMap(([requestId, { length }]) =>
    length > 1 ? [`${requestId} was admitted ${length} times`] : [],
  );
}

function repeatedEffects(seen: readonly Seen[]): string[] {
  const once = seen
    .filter((it) => it.saw === "effect")
    .filter(({ label, replaySafe }) => label === "write" && !replaySafe);
  const begun = Map.groupBy(once, ({ call }) => call);
  const again = seen.filter((it) => it.saw === "return").filter(({ hasChanged }) => hasChanged);
  return [
    ...[...begun].flatMap(([call, { 0: first, length }]) =>
      length > 1 ? [`${first?.tool} ran ${length} times for one call (${call})`] : [],
    ),
    ...again.map(
      ({ call, tool }) =>
        `${tool} is declared replay-safe, and running again for one call (${call}) changed the folder once more`,
    ),
  ];
}

function unknownWrites({ entries, settlement }: Account): string[] {
  const interrupted = entries.flatMap((it) => {
    const entry = known(it);
    if (entry?.kind === "program.outcome" && entry.data.interrupted === true) {
      const { operation, assistant, index, ordinal } = entry.data;
      return [`${operation} was interrupted (${assistant}/${index}/${ordinal})`];
    }
    if (entry?.kind !== "message.tool" || entry.data.interrupted !== true) return [];
    const { name, assistant, index } = entry.data;
    return [`${name} was interrupted (${assistant}/${index})`];
  });
  const isUnknown = settlement?.terminal === "outcome_unknown";
  return isUnknown ? [...interrupted, "the command's outcome is unknown"] : interrupted;
}
