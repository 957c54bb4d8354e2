// Keeps what others write from the screen: a tool of an agent that runs in this process prints where it likes.

import { Console } from "node:console";
import { Writable } from "node:stream";

type Stream = typeof process.stdout | typeof process.stderr;

/**
 * Sends the console, stderr and stdout to `tell`, a line at a time, until the answer is called. What is written to stdout
 * while `isOurs` says so is the screen's, and goes on to it.
 */
export function quiet(tell: (line: string) => void, isOurs: () => boolean): () => void {
  const { console } = globalThis;
  const lines = new Lines(tell);
  const sink = new Writable({
    decodeStrings: false,
    write(chunk: string | Uint8Array, _encoding, done) {
      lines.take(chunk);
      done();
    },
  });
  globalThis.console = new Console(sink, sink);
  const loud = [divert(process.stderr, lines, () => false), divert(process.stdout, lines, isOurs)];
  return () => {
    lines.end();
    globalThis.console = console;
    for (const undo of loud) undo();
  };
}

function divert(stream: Stream, lines: Lines, isOurs: () => boolean): () => void {
  const own = Object.getOwnPropertyDescriptor(stream, "write");
  const onward = stream.write.bind(stream);
  stream.write = (chunk: string | Uint8Array, ...more: unknown[]): boolean => {
    if (isOurs()) return Boolean(Reflect.apply(onward, undefined, [chunk, ...more]));
    lines.take(chunk);
    const done = more.at(-1);
    if (typeof done === "function") queueMicrotask(() => void done());
    return true;
  };
  return () => {
    if (own) Object.defineProperty(stream, "write", own);
    else Reflect.deleteProperty(stream, "write");
  };
}

class Lines {
  readonly #tell: (line: string) => void;
  #rest = "";

  constructor(tell: (line: string) => void) {
    this.#tell = tell;
  }

  take(chunk: string | Uint8Array): void {
    const text = typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
    const lines = (this.#rest + text).split("\n");
    this.#rest = (lines.pop() ?? "").slice(-4_096);
    for (const line of lines) this.#tell(line);
  }

  end(): void {
    if (this.#rest !== "") this.#tell(this.#rest);
    this.#rest = "";
  }
}
