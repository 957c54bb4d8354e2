// The real pi behind a door that kills its host at a given moment: `node killing-pi.ts MOMENT PI ARGUMENTS`. Lines go both
// ways until then. Afterwards pi lives on, as one whose host was killed does.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";

interface Moment {
  /** `in`: a line of the host that is not handed on; `out`: a line of pi that the host never sees. */
  readonly way: "in" | "out";
  readonly has: string;
  /** Of the lines that have it; the first where it is left out. */
  readonly nth?: number;
}

const moments: Readonly<Record<string, Moment>> = {
  "before pi says who it is": { way: "out", has: '"command":"get_state"' },
  "before pi is told its prompt's place": { way: "out", has: '"command":"get_entries"' },
  "when pi tries again": { way: "out", has: '"type":"auto_retry_start"' },
  "when pi is asked what it used": { way: "out", has: '"command":"get_session_stats"', nth: 2 },
  "when pi has compacted": { way: "out", has: '"command":"compact"' },
  "when pi has read the note": { way: "out", has: "ended in the middle of this turn" },
  "before pi reads the prompt": { way: "in", has: '"type":"prompt"' },
  "when pi has read the prompt": { way: "out", has: '"role":"user"' },
  "when pi has answered": { way: "out", has: '"type":"agent_settled"' },
  "when a call has begun": { way: "out", has: '"type":"tool_execution_start"' },
  "when a call is done": { way: "out", has: '"role":"toolResult"' },
  "when a command is done": { way: "out", has: '"disposition":"handled"' },
  "when a dialog is answered": { way: "in", has: '"type":"extension_ui_response"' },
  "before pi reads a steer": { way: "in", has: '"streamingBehavior":"steer"' },
};

const [name = "", program = "", ...args] = process.argv.slice(2);
const moment = moments[name];
if (!moment) throw new Error(`No moment ${name}.`);
const child: ChildProcessWithoutNullStreams = spawn(program, args, { stdio: "pipe" });
child.stderr.pipe(process.stderr);
child.once("exit", (code) => process.exit(code ?? 1));
let isKilled = false;
let left = moment.nth ?? 1;

relay(process.stdin, child.stdin, "in");
relay(child.stdout, process.stdout, "out");

function relay(from: NodeJS.ReadableStream, to: NodeJS.WritableStream, way: "in" | "out"): void {
  let rest = Buffer.alloc(0);
  from.on("data", (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (let at = rest.indexOf(10); at !== -1; at = rest.indexOf(10)) {
      const line = rest.subarray(0, at + 1);
      rest = rest.subarray(at + 1);
      if (!isKilled && moment?.way === way && line.includes(moment.has) && --left === 0) {
        isKilled = true;
        process.kill(process.ppid, "SIGKILL");
      }
      if (!isKilled) to.write(line);
    }
  });
  // Nobody listens any more.
  to.on("error", () => {});
  from.on("end", () => {
    if (!isKilled) to.end();
  });
}
