// Admission: the only way in. One transaction holds the receipt, the entry and the queue row.
//
//   A1   `accepted` is answered only once the command, its receipt and its entry are durable.
//   A4   Two sessions may use the same request id; one session may not use it twice for different input.
//   A5   A refused admission leaves nothing behind.
//   A6   `requireExisting` on an absent session is refused `closed` and creates nothing; without it, the session is made.
//   A7   A full queue (256) refuses `capacity`; `delivery: "reject"` on a busy session refuses `busy`.
//   A10  Cancelling settled work is `too_late`; pending-only cancel of a claimed command is `too_late` and aborts nothing.
//   A11  Abort cancels the running command and every queued prompt in one step.
//   A12  A bound principal cancels only their own commands, one that stops all everybody's.
//   A23  An interrupt takes what runs, else what runs next: all that was admitted before it counts.
//   A24  An owner's devices ask as one: what they are called is no part of what is asked.

import {
  type BlobRef,
  canonicalJson,
  type Command,
  type CommandOf,
  Fault,
  type Receipt,
  type Withdrawal,
} from "@lichen/wire";
import {
  findSession,
  insertSession,
  requireSession,
  type SessionRow,
  type SessionWriter,
} from "../log/session-row.ts";
import {
  commandRow,
  type CommandRow,
  nextCommand,
  queuedCommands,
  runningCommand,
} from "../queue/command-table.ts";
import type { Coordinator } from "../queue/coordinator.ts";
import { commandById, recordCancel, settlePending, withdrawApprovals } from "../queue/settle.ts";
import type { Sessions } from "../queue/sessions.ts";
import { approvalRow } from "../run/approval-table.ts";
import { storeImage } from "../run/draft.ts";
import { eidOf, idOf, parseId, seqOf } from "../store/keys.ts";
import type { Tx } from "../store/writer.ts";
import type { Bound } from "./meta.ts";
import { fence, record, replayed, type RequestKey } from "./request-table.ts";

const queueLimit = 256;

export interface Address {
  readonly aid: number;
  readonly agent: string;
  readonly session: string;
}

export class Admission {
  readonly #sessions: Sessions;
  readonly #coordinator: Coordinator;
  readonly #created: (row: SessionRow) => void;

  constructor(sessions: Sessions, coordinator: Coordinator, created: (row: SessionRow) => void) {
    this.#sessions = sessions;
    this.#coordinator = coordinator;
    this.#created = created;
  }

  /** Admits a parsed command. */
  admit(address: Address, command: Command, bound: Bound | undefined): Promise<Receipt> {
    if (this.#coordinator.isDraining) return Promise.reject(stopping());
    const { platform, sql, writer } = this.#sessions.ground;
    const digest = platform.sha256(canonicalJson([inputOf(command), askerOf(bound)]));
    const key = keyOf(address, command.requestId);
    return writer.commit((tx) => {
      const earlier = replayed(sql, key, digest);
      if (earlier) {
        this.#recheck(address, command, bound);
        return earlier;
      }
      const row = this.#open(tx, address, command);
      const session = this.#sessions.writer(tx, row);
      const receipt = this.#perform(tx, session, command, bound);
      record(sql, key, row.sid, digest, receipt);
      return receipt;
    });
  }

  /** Cancels what runs, else what runs next; answers its id, or undefined where nothing is in hand. */
  interrupt(address: Address, bound: Bound | undefined): Promise<string | undefined> {
    if (this.#coordinator.isDraining) return Promise.reject(stopping());
    const { ground } = this.#sessions;
    const { sql, writer } = ground;
    return writer.commit((tx) => {
      const row = requireSession(sql, address.aid, address.session);
      const target = runningCommand(sql, row.sid) ?? nextCommand(sql, row.sid, row.info.pending);
      if (!target) return undefined;
      mayCancel(target, bound);
      const session = this.#sessions.writer(tx, row);
      if (target.state === "running") this.#stop(tx, session, target, bound);
      else settlePending(ground, session, target, ownerOf(bound));
      return idOf("cmd", row.key, seqOf(target.cid));
    });
  }

  /** An admission that stands wins and is not cancelled; else a durable fence refuses every later one. */
  withdraw(address: Address, request: string): Promise<Withdrawal> {
    const { sql, writer } = this.#sessions.ground;
    return writer.commit((): Withdrawal => {
      const receipt = fence(sql, keyOf(address, request));
      if (!receipt) return { status: "unknown" };
      const id = receipt.commandId ?? receipt.entryId;
      if (id === undefined)
        throw new Fault(
          "conflict",
          `Request ${request} was an abort or an answer: it took effect and cannot be withdrawn.`,
        );
      return { status: "accepted", commandId: id };
    });
  }

  #open(tx: Tx, address: Address, command: Command): SessionRow {
    const { sql } = this.#sessions.ground;
    if (command.type !== "prompt" && command.type !== "line")
      return requireSession(sql, address.aid, address.session);
    const row = findSession(sql, address.aid, address.session);
    if (row) return row;
    if (command.requireExisting)
      throw new Fault(
        "closed",
        `There is no session ${address.session}, and this command requires one.`,
      );
    const made = insertSession(this.#sessions.ground, tx, {
      aid: address.aid,
      agent: address.agent,
      id: address.session,
    });
    tx.after(() => this.#created(made));
    return made;
  }

  #perform(tx: Tx, session: SessionWriter, command: Command, bound: Bound | undefined): Receipt {
    switch (command.type) {
      case "prompt":
        return this.#prompt(tx, session, command, bound);
      case "line": {
        const entry = session.append({
          kind: "line",
          requestId: command.requestId,
          meta: bound?.meta,
          by: bound?.identity,
          data: { text: command.text },
        });
        return { status: "accepted", entryId: entry.id };
      }
      case "cancel":
        return this.#cancel(tx, session, command, bound);
      case "abort":
        return this.#abort(tx, session, bound);
      case "answer":
        return this.#answer(tx, session, command, bound);
      case "compact":
        return this.#enqueue(tx, session, {
          type: "compact",
          text: command.instructions ?? "",
          requestId: command.requestId,
          ...ownerOf(bound),
        });
    }
  }

  #prompt(
    tx: Tx,
    session: SessionWriter,
    command: CommandOf<"prompt">,
    bound: Bound | undefined,
  ): Receipt {
    const delivery = command.delivery ?? "follow_up";
    if (delivery === "reject" && session.info.state !== "idle")
      throw new Fault(
        "busy",
        `Session ${session.row.id} is ${session.info.state}: wait for it, or send this as a follow-up or a steer.`,
        { retryable: true },
      );
    const { ground } = this.#sessions;
    const images = (command.images ?? []).map((image): BlobRef =>
      storeImage(ground, session.row.sid, image),
    );
    return this.#enqueue(tx, session, {
      type: "prompt",
      text: command.text,
      images,
      requestId: command.requestId,
      ...(command.delivery === undefined ? {} : { delivery }),
      ...ownerOf(bound),
    });
  }

  #enqueue(tx: Tx, session: SessionWriter, work: Parameters<Coordinator["enqueue"]>[2]): Receipt {
    if (session.info.pending >= queueLimit)
      throw new Fault(
        "capacity",
        `Session ${session.row.id} has ${queueLimit} commands waiting, the most it keeps: wait until some ran, or cancel some.`,
      );
    const seq = this.#coordinator.enqueue(tx, session, work);
    return { status: "accepted", commandId: idOf("cmd", session.row.key, seq) };
  }

  #cancel(
    tx: Tx,
    session: SessionWriter,
    command: CommandOf<"cancel">,
    bound: Bound | undefined,
  ): Receipt {
    const { ground } = this.#sessions;
    const target = this.#target(session.row, command.commandId);
    mayCancel(target, bound);
    const receipt = { commandId: command.commandId };
    switch (target.state) {
      case "settled":
      case "joined":
        return { status: "too_late", ...receipt };
      case "queued":
        settlePending(ground, session, target, ownerOf(bound));
        return { status: "accepted", ...receipt };
      case "running":
        if (command.onlyIfPending) return { status: "too_late", ...receipt };
        this.#stop(tx, session, target, bound);
        return { status: "accepted", ...receipt };
    }
  }

  #abort(tx: Tx, session: SessionWriter, bound: Bound | undefined): Receipt {
    const { ground } = this.#sessions;
    const { sid, key } = session.row;
    const own = (command: CommandRow): boolean =>
      bound?.identity === undefined || bound.stopsAll || command.identity === bound.identity;
    const running = runningCommand(ground.sql, sid);
    const queued = queuedCommands(ground.sql, sid).filter(own);
    if (running && !own(running) && queued.length === 0)
      throw new Fault("denied", "The running command is somebody else's: only they can abort it.");
    const cancelled: string[] = [];
    if (running && own(running) && running.cancelled === null) {
      this.#stop(tx, session, running, bound);
      cancelled.push(idOf("cmd", key, seqOf(running.cid)));
    }
    for (const command of queued) {
      settlePending(ground, session, command, ownerOf(bound));
      cancelled.push(idOf("cmd", key, seqOf(command.cid)));
    }
    return { status: "accepted", cancelled };
  }

  #stop(tx: Tx, session: SessionWriter, target: CommandRow, bound: Bound | undefined): void {
    if (target.cancelled !== null) return;
    const { ground } = this.#sessions;
    recordCancel(ground, session, target, "running", ownerOf(bound));
    withdrawApprovals(ground, session, target.cid, "the command was cancelled");
    this.#coordinator.endOrphan(tx, session, target.cid);
    tx.after(() => this.#coordinator.stopRun(target.cid, "cancelled"));
  }

  #answer(
    tx: Tx,
    session: SessionWriter,
    command: CommandOf<"answer">,
    bound: Bound | undefined,
  ): Receipt {
    const parsed = parseId("apr", command.approvalId);
    if (parsed?.key !== session.row.key)
      throw new Fault(
        "unknown_approval",
        `There is no approval ${command.approvalId} in session ${session.row.id}.`,
      );
    const { type: _type, requestId: _requestId, approvalId: _approvalId, ...given } = command;
    const asked = eidOf(session.row.sid, parsed.seq);
    const isFirst = this.#coordinator.approvals.answer(tx, session, asked, given, ownerOf(bound));
    if (isFirst && given.interrupt) {
      const run = approvalRow(this.#sessions.ground.sql, asked)!.cid;
      const target = commandRow(this.#sessions.ground.sql, run)!;
      mayCancel(target, bound);
      this.#stop(tx, session, target, bound);
    }
    return { status: isFirst ? "accepted" : "too_late" };
  }

  // A replayed cancel answers as before, but only to those who may cancel.
  #recheck(address: Address, command: Command, bound: Bound | undefined): void {
    if (command.type !== "cancel" || bound?.identity === undefined) return;
    const row = findSession(this.#sessions.ground.sql, address.aid, address.session);
    if (row) mayCancel(this.#target(row, command.commandId), bound);
  }

  #target(row: SessionRow, commandId: string): CommandRow {
    const target = commandById(this.#sessions.ground.sql, row, commandId);
    if (!target)
      throw new Fault("unknown_command", `There is no command ${commandId} in session ${row.id}.`);
    return target;
  }
}

function keyOf(address: Address, request: string): RequestKey {
  return { aid: address.aid, session: address.session, request };
}

/** The admitted input, in one form for what means the same. */
function inputOf(command: Command): unknown {
  const { requestId: _requestId, ...input } = command;
  if (input.type !== "prompt") return input;
  return { ...input, delivery: input.delivery ?? "follow_up", images: input.images ?? [] };
}

function stopping(): Fault {
  return new Fault("unavailable", "The host is stopping: send this again in a moment.");
}

/** What who asks adds to what is asked. */
function askerOf(bound: Bound | undefined): Bound["meta"] | null {
  return bound === undefined || bound.stopsAll ? null : bound.meta;
}

function ownerOf(bound: Bound | undefined): {
  meta?: Bound["meta"];
  identity?: string;
} {
  if (!bound) return {};
  return {
    meta: bound.meta,
    ...(bound.identity === undefined ? {} : { identity: bound.identity }),
  };
}

function mayCancel(target: CommandRow, bound: Bound | undefined): void {
  if (bound?.identity === undefined || bound.stopsAll) return;
  if (target.identity === bound.identity) return;
  throw new Fault("denied", "This command was sent by somebody else: only they can cancel it.");
}
