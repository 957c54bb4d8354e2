// The thread of a sandbox: one program at a time, each in a machine of its own, with the next machine made ahead.
//
// Most calls are answered at once, and waking a thread through its event loop takes longer than the answer: so a thread
// whose program waits for one stays awake for it a moment.

import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { FromSandbox, SandboxData, ToSandbox } from "../protocol.ts";
import { Machine, type Step } from "./machine.ts";

const data: SandboxData = workerData;
const flushLength = 4_096;
/** How long a thread looks out for the next message without sleeping: falling asleep and waking take as long. */
const watchfulMs = 0.06;
/** How long it then sleeps where a message wakes it faster than its event loop would. */
const awakeMs = 2;
let unsent = "";
let fresh: Machine | undefined;
let current: Machine | undefined;
/** The program waits for an outcome. */
let isAwaiting = false;

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
  isAwaiting = step.ending === undefined;
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
      isAwaiting = false;
      unsent = "";
      fresh ??= await Machine.boot(data, print);
  }
}

let last = Machine.boot(data, print).then((machine) => {
  fresh = machine;
  say({ type: "ready" });
});
let received = 0;
let waiting = 0;
parentPort?.on("message", (message: ToSandbox) => {
  received++;
  waiting++;
  // What fails here is a bug: it ends the thread, and the host says so.
  last = last.then(async () => {
    waiting--;
    await take(message);
    await takeWhatComesAtOnce();
  });
});

async function takeWhatComesAtOnce(): Promise<void> {
  for (;;) {
    // What the event loop has taken already comes first.
    if (!isAwaiting || waiting > 0) return;
    const next = nextMessage();
    if (!next) return;
    received++;
    await take(next);
  }
}

function nextMessage(): ToSandbox | undefined {
  const there = arrived();
  if (there) return there;
  const until = performance.now() + watchfulMs;
  let now = 0;
  while (Atomics.load(data.sent, 0) === received && now < until) now = performance.now();
  Atomics.wait(data.sent, 0, received, awakeMs);
  return arrived();
}

function arrived(): ToSandbox | undefined {
  if (!parentPort) return undefined;
  const found: { message: ToSandbox } | undefined = receiveMessageOnPort(parentPort);
  return found?.message;
}
