// Keeps what others write from the screen: a tool of an agent that runs in this process prints where it likes.

import { Console } from "node:console";
import { Writable } from "node:stream";

/** Sends the console and stderr to `tell`, a line at a time, until the answer is called. */
export function quiet(tell: (line: string) => void): () => void {
  const { stderr } = process;
  const { console } = globalThis;
  const own = Object.getOwnPropertyDescriptor(stderr, "write");
  let rest = "";
  const take = (text: string): void => {
    const lines = (rest + text).split("\n");
    rest = (lines.pop() ?? "").slice(-4_096);
    for (const line of lines) tell(line);
  };
  const sink = new Writable({
    decodeStrings: false,
    write(chunk: string | Uint8Array, _encoding, done) {
      take(typeof chunk === "string" ? chunk : Buffer.from(chunk).toString());
      done();
    },
  });
  globalThis.console = new Console(sink, sink);
  stderr.write = (chunk: string | Uint8Array, ...more: unknown[]): boolean => {
    take(typeof chunk === "string" ? chunk : Buffer.from(chunk).toString());
    const done = more.at(-1);
    if (typeof done === "function") queueMicrotask(() => void done());
    return true;
  };
  return () => {
    if (rest !== "") tell(rest);
    globalThis.console = console;
    if (own) Object.defineProperty(stderr, "write", own);
    else Reflect.deleteProperty(stderr, "write");
  };
}
