// Begins a program, so that a computer without room for it refuses, and never brings down the host.
//
// Where there are no file handles left, Node answers a child without pipes and tells its error later, which ends the
// whole process if nobody listens; other faults it throws at once.

import type { ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import { Fault } from "@lichen/wire";

/** The child of `spawn`, once it runs. Rejects (`unavailable`, or `invalid` for what can be no command) with why not. */
export async function begin<C extends ChildProcess>(name: string, spawn: () => C): Promise<C> {
  let child: C | undefined;
  try {
    child = spawn();
    const begun = Promise.withResolvers<void>();
    child.once("spawn", begun.resolve);
    child.on("error", begun.reject);
    await begun.promise;
    return child;
  } catch (error) {
    for (const pipe of child?.stdio ?? []) pipe?.destroy();
    throw notBegun(name, error);
  }
}

/** The refusal for what the system said when a program was to begin. A refusal stays what it is. */
export function notBegun(name: string, cause: unknown): unknown {
  if (Fault.is(cause) || !(cause instanceof Error) || !("code" in cause)) return cause;
  const code = String(cause.code);
  if (code === "ERR_INVALID_ARG_VALUE")
    return new Fault("invalid", `${JSON.stringify(name)} cannot be started: ${cause.message}`, {
      cause,
    });
  const why = reasons[code] ?? cause.message;
  const isPassing = passing.has(code);
  const words = `${name} could not be started: ${why}.`;
  return new Fault("unavailable", words, { cause, retryable: isPassing });
}

const tooMany =
  "too many files are open in this process: close some, or raise its limit (ulimit -n)";
const reasons: Readonly<Record<string, string>> = {
  ENOENT: "it, or its folder, is not there: is it installed?",
  EACCES: "this user may not execute it",
  EMFILE: tooMany,
  ENFILE: "too many files are open on this computer",
  EAGAIN: "this user has too many processes",
  ENOMEM: "this computer has no memory left",
  E2BIG: "its arguments and its environment are too long",
};
const passing: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"]);

/** Settles when these have ended, or after `ms`: who else holds them open is not waited for. */
export async function closedWithin(streams: readonly Readable[], ms: number): Promise<void> {
  const open = streams.filter((stream) => !stream.readableEnded && !stream.closed);
  if (open.length === 0) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  let left = open.length;
  for (const stream of open)
    stream.once("close", () => {
      if (--left === 0) resolve();
    });
  await promise;
  clearTimeout(timer);
}
