// One entry as an item: what it says by itself, without the entries around it.

import { type Entry, type EntryOf, known } from "@lichen/wire";
import { isReadable } from "../stream/read-entry.ts";
import type { Item } from "./view.ts";

/** Undefined for an entry that shows only in what others say: a queued command, a call's start. */
export function itemOf(entry: Entry): Item | undefined {
  const from = fromEntry(entry);
  const recorded = isReadable(entry) ? known(entry) : undefined;
  if (!recorded) return { ...from, type: "unknown", entry };
  switch (recorded.kind) {
    case "message.user": {
      const { text, images = [], steers } = recorded.data;
      return {
        ...from,
        ...sender(recorded),
        type: "user",
        text,
        images,
        ...(steers === undefined ? {} : { steers }),
      };
    }
    case "message.assistant": {
      const { content, stop, model, usage, error } = recorded.data;
      return {
        ...from,
        type: "assistant",
        content,
        calls: [],
        stop,
        ...(model === undefined ? {} : { model }),
        ...(usage === undefined ? {} : { usage }),
        ...(error === undefined ? {} : { error }),
      };
    }
    case "line":
      return { ...from, ...sender(recorded), type: "line", text: recorded.data.text };
    case "compaction": {
      const { summary, automatic } = recorded.data;
      return { ...from, type: "compaction", summary, automatic };
    }
    case "conversation.started":
      return { ...from, type: "conversation" };
    case "run.recovered":
      return { ...from, type: "recovered", recoveries: recorded.data.recoveries };
    case "run.settled": {
      const { terminal, diagnostic, was } = recorded.data;
      // What was cancelled while it waited is told by its cancellation; what joined ends with the run it joined.
      if (terminal === "completed" || was !== "running") return undefined;
      return {
        ...from,
        type: "ended",
        terminal,
        ...(diagnostic === undefined ? {} : { diagnostic }),
      };
    }
    case "command.cancelled": {
      const { text, images = [], was } = recorded.data;
      return { ...from, type: "cancelled", text, images, was };
    }
    case "session.changed": {
      const { leaf: _, ...changes } = recorded.data;
      return Object.keys(changes).length === 0 ? undefined : { ...from, type: "changed", changes };
    }
    case "approval.asked": {
      const { kind, approvalId, description, questions = [] } = recorded.data;
      if (kind === "tool") return undefined;
      return {
        ...from,
        type: "question",
        question: {
          approvalId,
          questions,
          state: "pending",
          ...(description === undefined ? {} : { description }),
        },
      };
    }
    case "command.queued":
    case "run.started":
    case "message.tool":
    case "call.started":
    case "program.started":
    case "program.call":
    case "program.outcome":
    case "grants.delivered":
    case "approval.answered":
    case "approval.withdrawn":
    case "approval.expired":
    case "harness.line":
    case "harness.conversation":
    case "harness.process":
    case "harness.stopped":
    case "harness.restarted":
    case "setting":
    case "renamed":
      return undefined;
  }
}

export function fromEntry({ id, seq, at, commandId }: Entry): {
  id: string;
  seq: number;
  at: string;
  commandId?: string;
} {
  return { id, seq, at, ...(commandId === undefined ? {} : { commandId }) };
}

function sender({ requestId, by }: EntryOf<"message.user"> | EntryOf<"line">): {
  requestId?: string;
  by?: string;
} {
  return {
    ...(requestId === undefined ? {} : { requestId }),
    ...(by === undefined ? {} : { by }),
  };
}
