// The fold law: a baseline at head h2 equals the fold of the baseline at h1 and the entries h1..h2 (partials aside).
//
// Owner and clients run this one code: the owner to derive a session's row in the transaction of its entries, a
// client to follow a stream. Pure; an entry of an unknown kind only moves the head.

import { addUsage, type BlobRef, type Text } from "./content.ts";
import { type Entry, type EntryOf, isMachineEvent, known } from "./entry.ts";
import { utf8Bytes } from "./id.ts";
import type { Approval, Baseline, Partial, PendingCommand, SessionInfo } from "./session.ts";

export const baselineEntries = 200;
export const baselineBytes = 1_048_576;
const pendingText = 4_096;
const previewText = 200;

/** What one entry does to a session's info. */
export function projectSession(before: SessionInfo, recorded: Entry): SessionInfo {
  const info: SessionInfo = { ...before, head: recorded.seq, lastAt: recorded.at };
  const entry = known(recorded);
  if (!entry) return info;
  switch (entry.kind) {
    case "command.queued":
      info.pending++;
      break;
    case "run.started":
      info.pending--;
      info.state = "running";
      break;
    case "message.user":
      if (entry.data.steers !== undefined) info.pending--;
      info.leaf = entry.id;
      info.preview = preview(entry.data.text);
      break;
    case "message.assistant": {
      info.leaf = entry.id;
      // A huge content stands as one blob; its preview stays what it was.
      const blocks = Array.isArray(entry.data.content) ? entry.data.content : [];
      const text = blocks.find((block) => block.type === "text");
      if (text) info.preview = preview(text.text);
      break;
    }
    case "message.tool":
    case "compaction":
      info.leaf = entry.id;
      break;
    case "line":
      info.leaf = entry.id;
      info.preview = preview(entry.data.text);
      break;
    case "run.settled":
      if (entry.data.was === "pending") info.pending--;
      if (entry.data.was === "running") {
        info.turns++;
        info.state = "idle";
      }
      info.usage = addUsage(info.usage, entry.data.usage);
      break;
    case "approval.asked":
      info.approvals++;
      break;
    case "approval.answered":
    case "approval.withdrawn":
    case "approval.expired":
      info.approvals--;
      break;
    case "conversation.started":
      delete info.leaf;
      break;
    case "session.changed": {
      const { title, model, reasoning, capabilities, leaf } = entry.data;
      if (title !== undefined) info.title = title;
      if (model === null) delete info.model;
      else if (model !== undefined) info.model = model;
      if (reasoning !== undefined) info.reasoning = reasoning;
      if (capabilities !== undefined) info.capabilities = capabilities;
      if (leaf !== undefined) info.leaf = leaf;
      break;
    }
    case "command.cancelled":
    case "run.recovered":
    case "call.started":
    case "program.started":
    case "program.call":
    case "program.outcome":
    case "grants.delivered":
    case "harness.line":
    case "harness.conversation":
    case "harness.process":
    case "harness.stopped":
    case "harness.restarted":
    case "setting":
    case "renamed":
      break;
  }
  if (info.events !== undefined && isMachineEvent(recorded)) info.events++;
  info.state = stateOf(info);
  return info;
}

function stateOf(info: SessionInfo): SessionInfo["state"] {
  const runs = info.state === "running" || info.state === "waiting";
  if (runs) return info.approvals > 0 ? "waiting" : "running";
  return info.pending > 0 ? "queued" : "idle";
}

/** What one entry does to a baseline. */
export function foldBaseline(before: Baseline, recorded: Entry): Baseline {
  return {
    ...foldAroundEntries(before, recorded),
    ...bounded([...before.entries, recorded], before.more),
  };
}

/** The same for all but the entries, whose bound costs a pass over them: for a reader that keeps entries its own way. */
export function foldAroundEntries(before: Baseline, recorded: Entry): Baseline {
  const after: Baseline = {
    ...before,
    head: recorded.seq,
    session: projectSession(before.session, recorded),
  };
  if (before.running?.partial && replaces(recorded, before.running.partial)) {
    const { partial: _, ...running } = before.running;
    after.running = running;
  }
  const entry = known(recorded);
  if (!entry) return after;
  switch (entry.kind) {
    case "command.queued":
      after.pending = [...before.pending, pendingOf(entry)];
      break;
    case "run.started":
      after.pending = without(before.pending, entry.commandId);
      after.running = { commandId: entry.commandId!, startedAt: entry.at };
      break;
    case "message.user":
      if (entry.data.steers !== undefined) after.pending = without(before.pending, entry.commandId);
      break;
    case "run.settled":
      after.pending = without(before.pending, entry.commandId);
      if (before.running?.commandId === entry.commandId) delete after.running;
      break;
    case "approval.asked":
      after.approvals = [...before.approvals, approvalOf(entry)];
      break;
    case "approval.answered":
    case "approval.withdrawn":
    case "approval.expired": {
      const { approvalId } = entry.data;
      after.approvals = before.approvals.filter((it) => it.approvalId !== approvalId);
      break;
    }
    case "message.assistant":
    case "message.tool":
    case "command.cancelled":
    case "line":
    case "run.recovered":
    case "call.started":
    case "program.started":
    case "program.call":
    case "program.outcome":
    case "grants.delivered":
    case "compaction":
    case "conversation.started":
    case "session.changed":
    case "harness.line":
    case "harness.conversation":
    case "harness.process":
    case "harness.stopped":
    case "harness.restarted":
    case "setting":
    case "renamed":
      break;
  }
  return after;
}

/** A message that is stored, and the end of the process that streamed. */
const replacing: ReadonlySet<string> = new Set([
  "message.assistant",
  "message.tool",
  "run.recovered",
]);

/** Whether what streams is over with this entry. A partial that does not say where it stands is taken as older. */
export function replaces(entry: Entry, { after = -1 }: Pick<Partial, "after">): boolean {
  return replacing.has(entry.kind) && after < entry.seq;
}

/** The newest entries that fit in `limit` entries and 1 MiB of JSON, oldest first. */
export function bounded(
  entries: readonly Entry[],
  more: boolean,
  limit: number = baselineEntries,
): { entries: Entry[]; more: boolean } {
  let start = entries.length;
  let bytes = 0;
  while (start > 0 && entries.length - start < limit) {
    bytes += utf8Bytes(JSON.stringify(entries[start - 1]));
    if (bytes > baselineBytes && start < entries.length) break;
    start--;
  }
  return { entries: entries.slice(start), more: more || start > 0 };
}

export function pendingOf(entry: EntryOf<"command.queued">): PendingCommand {
  return {
    commandId: entry.commandId!,
    ...(entry.requestId === undefined ? {} : { requestId: entry.requestId }),
    type: entry.data.type,
    text: cut(textOf(entry.data.text), pendingText),
    at: entry.at,
  };
}

export function approvalOf(entry: EntryOf<"approval.asked">): Approval {
  const {
    assistant: _assistant,
    index: _index,
    ordinal: _ordinal,
    description,
    ...asked
  } = entry.data;
  return {
    ...asked,
    ...(description === undefined ? {} : { description: textOf(description) }),
    commandId: entry.commandId!,
    askedAt: entry.at,
    state: "pending",
  };
}

function without(pending: PendingCommand[], commandId: string | undefined): PendingCommand[] {
  return pending.filter((it) => it.commandId !== commandId);
}

/** The text itself; for a blob, what it is. */
export function textOf(text: Text): string {
  return typeof text === "string" ? text : describeBlob(text);
}

/** What stands where a long text was put aside: a person sees that there is more and how much. */
export function describeBlob(ref: BlobRef): string {
  return `[${ref.bytes} bytes of ${ref.mimeType}]`;
}

function preview(text: Text): string {
  return cut(textOf(text).replace(/\s+/g, " ").trim(), previewText);
}

/** The first `units` UTF-16 units, never half of a surrogate pair. */
export function cut(text: string, units: number): string {
  if (text.length <= units) return text;
  const end = /[\ud800-\udbff]/.test(text[units - 1]!) ? units - 1 : units;
  return text.slice(0, end);
}
