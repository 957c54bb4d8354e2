// The two streams of a command: answers go to stdout and nothing else does; what a person should know goes to stderr.

export interface Terminal {
  /** Text on stdout, exactly. */
  answer(text: string): void;
  /** A line on stderr. */
  say(line: string): void;
  /** Text on stderr, exactly. */
  show(text: string): void;
  /** Whether stdout is a screen that a person watches. */
  readonly showsLive: boolean;
  /** Whether stderr is a screen, on which a line can be written anew. */
  readonly showsProgress: boolean;
  /** Whether a person can be asked: stdin and stderr are a terminal. */
  readonly canAsk: boolean;
  /** Settles when all that was written has left this process. */
  flush(): Promise<void>;
}

export function processTerminal(): Terminal {
  const { stdin, stdout, stderr } = process;
  // A reader that has gone (`lichen … | head`) ends the command quietly; nothing that was accepted is lost by it.
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
  stderr.on("error", () => {
    // Nobody reads what a person should know: the work itself goes on.
  });
  return {
    answer: (text) => void stdout.write(text),
    say: (line) => void stderr.write(`${line}\n`),
    show: (text) => void stderr.write(text),
    showsLive: stdout.isTTY,
    showsProgress: stderr.isTTY,
    canAsk: stdin.isTTY && stderr.isTTY,
    async flush() {
      for (const stream of [stdout, stderr]) {
        await new Promise<void>((resolve) => stream.write("", () => resolve()));
      }
    },
  };
}
