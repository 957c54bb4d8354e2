// Drafts: what an engine hands in becomes entries, and each is a committed step of its run.

import {
  addUsage,
  type BlobRef,
  type Entry,
  type EntryData,
  noUsage,
  type ToolBlock,
} from "@lichen/wire";
import type { Draft, Outcome, OutcomeBlock } from "../engine/port.ts";
import { putBlob } from "../log/blob.ts";
import type { SessionWriter } from "../log/session-row.ts";
import { eidOfId } from "../log/transcript.ts";
import { countStep } from "../queue/command-table.ts";
import type { Ground } from "../store/ground.ts";
import { eidOf, seqOf } from "../store/keys.ts";
import { insertCall } from "./call-table.ts";

/** Writes one draft of a run as an entry. */
export function writeDraft(
  ground: Ground,
  session: SessionWriter,
  cid: number,
  draft: Draft,
): Entry {
  const command = seqOf(cid);
  switch (draft.kind) {
    case "message.assistant": {
      const entry = session.append({ kind: draft.kind, command, data: draft.data });
      countStep(ground.sql, cid, {
        calls: 0,
        usage: addUsage(noUsage, draft.data.usage ?? noUsage),
      });
      return entry;
    }
    case "message.tool": {
      const { assistant, index, callId, name, ...outcome } = draft.data;
      const data = outcomeData(ground, session, { assistant, index, callId, name }, outcome);
      const entry = session.append({ kind: draft.kind, command, data });
      insertCall(ground.sql, {
        assistant: eidOfId(ground.sql, assistant)!,
        position: index,
        cid,
        label: "read",
        replay_safe: 1,
        started: null,
        outcome: eidOf(session.row.sid, entry.seq),
      });
      countStep(ground.sql, cid, { calls: 0, usage: noUsage });
      return entry;
    }
    case "compaction": {
      const entry = session.append({ kind: draft.kind, command, data: draft.data });
      countStep(ground.sql, cid, { calls: 0, usage: draft.data.usage ?? noUsage });
      return entry;
    }
    case "session.changed":
    case "harness.line":
    case "harness.conversation":
    case "harness.process":
    case "harness.stopped":
    case "harness.restarted":
      return session.append({ kind: draft.kind, command, data: draft.data });
  }
}

/** A call's outcome as entry data: images become blobs of the session. */
export function outcomeData(
  ground: Ground,
  session: SessionWriter,
  call: { assistant: string; index: number; callId: string; name: string },
  outcome: Outcome,
): EntryData["message.tool"] {
  return {
    assistant: call.assistant,
    index: call.index,
    callId: call.callId,
    name: call.name,
    content: outcome.content.map((block) => storedBlock(ground, session.row.sid, block)),
    isError: outcome.isError,
    ...(outcome.data === undefined ? {} : { data: outcome.data }),
  };
}

function storedBlock(ground: Ground, sid: number, block: OutcomeBlock): ToolBlock {
  if (block.type === "text") return { type: "text", text: block.text };
  return { type: "image", image: storeImage(ground, sid, block) };
}

/** Keeps an image as a blob of the session. `data` is base64. */
export function storeImage(
  ground: Ground,
  sid: number,
  image: { readonly mimeType: string; readonly data: string },
): BlobRef {
  const bytes = ground.platform.fromBase64(image.data);
  const sha256 = ground.platform.sha256(bytes);
  putBlob(ground.sql, sid, sha256, image.mimeType, bytes);
  return { blob: sha256, mimeType: image.mimeType, bytes: bytes.length };
}
