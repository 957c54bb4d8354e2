// Lives as processes: starts one, and waits until it has told its account, has died, or is out of time.
//
// A process that outlives its time, or the test itself, is killed: no life is left behind.

import { fork } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { Account, Job, Message } from "./job.ts";

export type Ending =
  | { readonly ended: "account"; readonly account: Account }
  /** By the SIGKILL of its job. */
  | { readonly ended: "killed" }
  | { readonly ended: "late" }
  | { readonly ended: "failed"; readonly reason: string };

const program = fileURLToPath(import.meta.resolve("./life-process.ts"));
/** For opening and closing, beside the job's own limit. */
const graceMs = 20_000;

export async function live(job: Job, signal: AbortSignal): Promise<Ending> {
  signal.throwIfAborted();
  const child = fork(program, [], {
    cwd: job.dir,
    execArgv: [],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    serialization: "json",
  });
  let told: Message | undefined;
  let isLate = false;
  child.on("message", (message: Message) => (told ??= message));
  const said = child.stderr ? text(child.stderr) : Promise.resolve("");
  const kill = () => void child.kill("SIGKILL");
  const timer = setTimeout(() => {
    isLate = true;
    kill();
  }, job.limitMs + graceMs);
  signal.addEventListener("abort", kill, { once: true });
  try {
    const over = Promise.withResolvers<NodeJS.Signals | null>();
    child.once("error", over.reject);
    child.once("close", (_code, by) => over.resolve(by));
    child.send(job, (error) => error && kill());
    const killedBy = await over.promise;
    signal.throwIfAborted();
    if (told?.type === "account") return { ended: "account", account: told.account };
    if (told?.type === "failed") return { ended: "failed", reason: told.reason };
    if (isLate) return { ended: "late" };
    if (killedBy === "SIGKILL" && job.death) return { ended: "killed" };
    const last = (await said).trim().split("\n").at(-1) ?? "";
    return { ended: "failed", reason: `the process ended by itself. ${last}`.trim() };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", kill);
  }
}
