// The thread of a sandbox: one program at a time, each in a machine of its own, with the next machine made ahead.

import { parentPort, workerData } from "node:worker_threads";
import type { FromSandbox, SandboxData, ToSandbox } from "../protocol.ts";
import { Machine, type Step } from "./machine.ts";

const data: SandboxData = workerData;
const flushLength = 4_096;
let unsent = "";
let fresh: Machine | undefined;
let current: Machine | undefined;

function say(message: FromSandbox): void {
  parentPort?.postMessage(message);
}

function print(text: string): void {
  unsent += text;
  if (unsent.length >= flushLength) flush();
}

function flush(): void {
  if (unsent !== "") say({ type: "printed", text: unsent });
  unsent = "";
}

function stepped(step: Step): void {
  flush();
  say({ type: "step", ...step });
}

async function take(message: ToSandbox): Promise<void> {
  switch (message.type) {
    case "start":
      current = fresh ?? (await Machine.boot(data, print));
      fresh = undefined;
      return stepped(current.start(message.code, message));
    case "restore":
      try {
        const { machine, open, calls, printed } = await Machine.restore(
          data,
          print,
          message.bytes,
          message,
        );
        current = machine;
        return say({ type: "restored", asks: open, calls, printed });
      } catch {
        // Whatever is wrong with it, the program is run again from its start.
        return say({ type: "unrestorable" });
      }
    case "deliver":
      if (current) stepped(current.deliver(message.ordinal, message.outcome, message.clock));
      return;
    case "snapshot": {
      const bytes = current?.snapshot();
      return say(bytes === undefined ? { type: "snapshot" } : { type: "snapshot", bytes });
    }
    case "end":
      current?.dispose();
      current = undefined;
      unsent = "";
      fresh ??= await Machine.boot(data, print);
  }
}

let last = Machine.boot(data, print).then((machine) => {
  fresh = machine;
  say({ type: "ready" });
});
parentPort?.on("message", (message: ToSandbox) => {
  // What fails here is a bug: it ends the thread, and the host says so.
  last = last.then(() => take(message));
});
