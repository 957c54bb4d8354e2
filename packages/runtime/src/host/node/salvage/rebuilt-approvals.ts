// The approvals of one session as its entries tell of them.

import type { EntryData, KnownEntry } from "@lichen/wire";
import { eidOf, idOf, parseId } from "../../../store/keys.ts";
import type { Sql } from "../../../store/sql.ts";

interface RebuiltApproval {
  readonly seq: number;
  readonly command: number;
  readonly expiresAt: number;
  /** The question's own name, where its entry tells. */
  readonly name: string | undefined;
  readonly prompt: string | undefined;
  state: "pending" | "allowed" | "denied" | "withdrawn" | "expired";
  answer: number | null;
}

type Decision = Extract<
  KnownEntry,
  {
    readonly kind:
      | "approval.asked"
      | "approval.answered"
      | "approval.withdrawn"
      | "approval.expired";
  }
>;

export class RebuiltApprovals {
  readonly #approvals = new Map<number, RebuiltApproval>();

  /** Takes the entry at `eid`, of a command. */
  take(entry: Decision, eid: number, command: number | null): void {
    switch (entry.kind) {
      case "approval.asked":
        if (command !== null)
          this.#approvals.set(entry.seq, {
            ...{ seq: entry.seq, command, state: "pending", answer: null },
            expiresAt: Date.parse(entry.data.expiresAt),
            name: nameOf(entry.data),
            prompt: entry.data.prompt,
          });
        break;
      case "approval.answered":
        this.#decide(entry.data.approvalId, entry.data.allow ? "allowed" : "denied", eid);
        break;
      case "approval.withdrawn":
        this.#decide(entry.data.approvalId, "withdrawn", null);
        break;
      case "approval.expired":
        this.#decide(entry.data.approvalId, "expired", null);
        break;
    }
  }

  /** Those of a command that nobody decided, as entries name them. */
  pending(command: number, key: string): { approvalId: string; prompt?: string }[] {
    return [...this.#approvals.values()]
      .filter((approval) => approval.command === command && approval.state === "pending")
      .map(({ seq, prompt }) => ({
        approvalId: idOf("apr", key, seq),
        ...(prompt === undefined ? {} : { prompt }),
      }));
  }

  /** `names` are the questions' own, as the rows that were found say them. */
  write(sql: Sql, sid: number, names: ReadonlyMap<number, string>): void {
    for (const approval of this.#approvals.values()) {
      const asked = eidOf(sid, approval.seq);
      sql.run(
        "insert or ignore into approval values (?, ?, ?, ?, ?, ?)",
        asked,
        eidOf(sid, approval.command),
        names.get(asked) ?? approval.name ?? `lost:${approval.seq}`,
        approval.state,
        approval.expiresAt,
        approval.answer,
      );
    }
  }

  #decide(id: string, state: RebuiltApproval["state"], answer: number | null): void {
    const approval = this.#approvals.get(parseId("apr", id)?.seq ?? 0);
    if (approval) Object.assign(approval, { state, answer });
  }
}

/** What a program's call asks under. */
function nameOf(asked: EntryData["approval.asked"]): string | undefined {
  const { assistant, index, ordinal } = asked;
  return ordinal === undefined ? undefined : `${assistant}/${index}/program/${ordinal}`;
}
