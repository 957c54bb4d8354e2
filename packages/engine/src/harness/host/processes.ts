// Which processes run now, told apart from later ones of the same number: by when they started and by the boot.
//
// Linux tells in /proc. Elsewhere (macOS) `ps` has to do, which knows groups, parents and start times but no environment:
// there nobody can be found by the mark, so that a process which has left its group, and whose parent has ended, is lost.

import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { promisify } from "node:util";

const execute = promisify(execFile);
/** The system's own programs, which tell a time the same way to every host, whatever its language and zone. */
const plainly = {
  env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C", TZ: "UTC" },
  maxBuffer: 16 * 1024 * 1024,
};

/** Names the variable by which all processes of a harness are known, wherever they have gone to. */
export const harnessMark = "LICHEN_HARNESS";

export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** With the pid the identity of a process: numbers are given out again. */
  readonly startedAt: string;
  /** Nothing of it runs; it waits to be taken note of. */
  readonly isDead: boolean;
}

/** One process, or nothing where it is gone. */
export async function processInfo(pid: number): Promise<ProcessInfo | undefined> {
  if (process.platform === "linux") return statOf(pid);
  return (await toldByPs(["-p", String(pid)]))[0];
}

/** All processes of this computer that may be seen. */
export async function processes(): Promise<ProcessInfo[]> {
  if (process.platform !== "linux") return toldByPs(["-A"]);
  return readdirSync("/proc").flatMap((name) => statOf(Number(name)) ?? []);
}

/** Whether the process carries the mark in its environment. Only Linux tells. */
export function isMarked(pid: number, mark: string): boolean {
  if (process.platform !== "linux") return false;
  try {
    const variables = readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
    return variables.includes(`${harnessMark}=${mark}`);
  } catch (error) {
    // Another user's, or gone.
    throwUnread(error);
    return false;
  }
}

/** Changes with every boot of the computer. */
export async function bootId(): Promise<string> {
  if (process.platform === "linux")
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  // When the computer booted is of no use: that changes whenever its clock is set.
  const { stdout } = await execute("sysctl", ["-n", "kern.bootsessionuuid"], plainly);
  return stdout.trim();
}

/** The same at once, where `/proc` tells; nothing elsewhere. */
export function statOf(pid: number): ProcessInfo | undefined {
  if (!Number.isInteger(pid)) return undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The program's name stands in parentheses and may hold anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return {
      pid,
      parent: Number(fields[1]),
      group: Number(fields[2]),
      startedAt: fields[19] ?? "",
      isDead: fields[0] === "Z" || fields[0] === "X",
    };
  } catch (error) {
    throwUnread(error);
    return undefined;
  }
}

/** That nothing could be read, for want of handles or memory, does not say that nothing is there. */
function throwUnread(error: unknown): void {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EMFILE" || code === "ENFILE" || code === "ENOMEM") throw error;
}

/**
 * Each column is an option of its own: elsewhere than on Linux all that follows on a `=` is the heading.
 * @internal Exported for its tests.
 */
export async function toldByPs(which: readonly string[]): Promise<ProcessInfo[]> {
  const columns = ["pid=", "ppid=", "pgid=", "stat=", "lstart="].flatMap((name) => ["-o", name]);
  const { stdout } = await execute("ps", [...which, ...columns], plainly).catch(
    (error: unknown) => {
      // `ps` fails with 1 where no process matches; that it could not run says nothing of processes.
      if (error instanceof Error && "code" in error && error.code === 1) return { stdout: "" };
      throw error;
    },
  );
  return stdout.split("\n").flatMap((line) => {
    const [pid, parent, group, state = "", ...started] = line.trim().split(/\s+/);
    if (started.length === 0) return [];
    return {
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      startedAt: started.join(" "),
      isDead: state.startsWith("Z"),
    };
  });
}
