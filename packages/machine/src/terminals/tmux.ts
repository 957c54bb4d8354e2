// Which tmux session each pane of this user's belongs to.

import { execFile } from "node:child_process";
import type { Places } from "../harnesses/harness.ts";

const patienceMs = 2_000;
/** It runs outside every wall, and an agent could put a program of that name into a folder of its user's on PATH. */
const systemFolders = "/usr/bin:/bin:/usr/local/bin:/opt/homebrew/bin:/run/current-system/sw/bin";

/** Names of sessions by the process that a pane began with; nothing where there is no tmux, or it does not answer. */
export function tmuxSessions({ env, home }: Places): Promise<Map<number, string>> {
  return new Promise((resolve) => {
    execFile(
      "tmux",
      ["list-panes", "-a", "-F", "#{pane_pid} #{session_name}"],
      {
        timeout: patienceMs,
        killSignal: "SIGKILL",
        maxBuffer: 4_194_304,
        env: {
          HOME: home,
          PATH: systemFolders,
          ...(env["TMUX_TMPDIR"] === undefined ? {} : { TMUX_TMPDIR: env["TMUX_TMPDIR"] }),
        },
      },
      (error, stdout) => resolve(error ? new Map() : panesIn(stdout)),
    );
  });
}

function panesIn(text: string): Map<number, string> {
  const panes = new Map<number, string>();
  for (const line of text.split("\n")) {
    const [, pid, name] = /^(\d+) (.*)$/.exec(line) ?? [];
    if (pid !== undefined && name !== undefined) panes.set(Number(pid), name);
  }
  return panes;
}
