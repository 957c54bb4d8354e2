// A program in a real terminal, used as a person would: keys go in, the screen is looked at. Waits follow what the
// program writes, and a screen is looked at only where no frame is half painted.

import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { StringDecoder } from "node:string_decoder";
import { Tmux } from "./tmux.ts";

export interface TerminalOptions {
  readonly command: string;
  readonly args?: readonly string[];
  /** 80 and 24 where they are left out. */
  readonly cols?: number;
  readonly rows?: number;
  /** All that the program finds besides PATH, TERM, COLORTERM and LANG. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** What stands on the main screen before the program starts. */
  readonly above?: string;
  /** How long a wait for the screen or the end lasts at most. */
  readonly patienceMs?: number;
}

/** What a wait is for: a text, a pattern over all lines, or a question about them. */
export type Look = string | RegExp | ((lines: readonly string[]) => boolean);

export interface Modes {
  readonly alternate: boolean;
  readonly cursor: { readonly x: number; readonly y: number; readonly isVisible: boolean };
  readonly mouse: boolean;
  readonly bracketedPaste: boolean;
  /** The terminal's line settings (echo, line mode) are those from before the program. Known after its end. */
  readonly lineSettings: "as before" | "changed" | undefined;
}

// Runs the program below a shell that outlives it, as at home. What it says about it stands in sequences that no
// terminal shows.
const wrapper = String.raw`set -m
trap : INT QUIT
above=$1; shift
before=$(stty -g)
[ -z "$above" ] || printf '%s\n' "$above"
env -i "$@"
code=$?
while [ "$code" = 148 ]; do
  printf '\033]7387;stopped\033\\'
  read -r _
  fg >/dev/null
  code=$?
done
after=$(stty -g)
[ "$before" = "$after" ] && tty='as before' || tty=changed
printf '\033]7387;code=%d;%s\033\\' "$code" "$tty"
exec sleep 2147483647`;
const inner = String.raw`printf '\033]7387;pid=%d\033\\' $$; exec "$@"`;
const keyName =
  /^(?:[CMS]-)*(?:[!-~]|Enter|Escape|Tab|BTab|Space|BSpace|Up|Down|Left|Right|Home|End|PageUp|PageDown|DC|IC|F[1-9]|F1[0-2])$/;

export class Terminal implements AsyncDisposable {
  #tmux!: Tmux;
  readonly #patienceMs: number;
  readonly #decoder = new StringDecoder("utf8");
  readonly #changed = new Set<() => void>();
  #written = "";
  #hasEnded = false;
  #broughtBack = 0;

  static async open(options: TerminalOptions): Promise<Terminal> {
    const terminal = new Terminal(options.patienceMs ?? 30_000);
    const env = {
      PATH: process.env["PATH"] ?? "",
      LANG: "C.UTF-8",
      TERM: "xterm-256color",
      COLORTERM: "truecolor",
      ...options.env,
    };
    const program = [options.command, ...(options.args ?? [])];
    const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const above = options.above ?? "";
    terminal.#tmux = await Tmux.start({
      command: ["sh", "-c", wrapper, "sh", above, ...settings, "sh", "-c", inner, "sh", ...program],
      cols: options.cols ?? 80,
      rows: options.rows ?? 24,
      cwd: options.cwd ?? tmpdir(),
      onOutput: (bytes) => terminal.#take(terminal.#decoder.write(bytes)),
      onEnd: () => {
        terminal.#hasEnded = true;
        terminal.#take("");
      },
    });
    return terminal;
  }

  private constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  /** Every byte that was written to the terminal, the wrapper's marks included. */
  get written(): string {
    return this.#written;
  }

  /** Types a text, key by key. No control characters: those are keys. */
  async type(text: string): Promise<void> {
    if (/\p{Cc}/u.test(text)) throw new Error("type() takes no control characters; use press()");
    const bytes = [...Buffer.from(text)].map((byte) => byte.toString(16));
    while (bytes.length > 0) {
      await this.#tmux.ask(`send-keys -H ${bytes.splice(0, 1_000).join(" ")}`);
    }
  }

  /** Presses keys by tmux's names: `Enter`, `M-Enter`, `C-c`, `Up`, `PageUp`, `a`. */
  async press(...keys: string[]): Promise<void> {
    const unknown = keys.find((key) => !keyName.test(key));
    if (unknown !== undefined) throw new Error(`No key is called "${unknown}"`);
    await this.#tmux.ask(`send-keys -- ${keys.map((key) => `'${key}'`).join(" ")}`);
  }

  /** Pastes, bracketed where the program asked for that; line ends become carriage returns. */
  async paste(text: string): Promise<void> {
    const path = this.#tmux.path("paste");
    await writeFile(path, text);
    await this.#tmux.ask(`load-buffer -b paste ${path}`);
    await this.#tmux.ask("paste-buffer -b paste -p -d");
  }

  async resize(cols: number, rows: number): Promise<void> {
    await this.#tmux.ask(`refresh-client -C ${cols},${rows}`);
  }

  /** The lines of the screen as a person sees them, without spaces at their ends. */
  async screen(): Promise<readonly string[]> {
    return this.#tmux.ask("capture-pane -p");
  }

  /** The same lines with their colours, as SGR sequences. */
  async styled(): Promise<readonly string[]> {
    return this.#tmux.ask("capture-pane -p -e");
  }

  async modes(): Promise<Modes> {
    const format = "#{alternate_on} #{cursor_x} #{cursor_y} #{cursor_flag} #{mouse_any_flag}";
    const [answer = ""] = await this.#tmux.ask(`display-message -p '${format}'`);
    const [alternate, x, y, isVisible, mouse] = answer.split(" ").map(Number);
    return {
      alternate: alternate === 1,
      cursor: { x: x ?? 0, y: y ?? 0, isVisible: isVisible === 1 },
      mouse: mouse === 1,
      bracketedPaste: this.#isOn("2004"),
      lineSettings: this.#end()?.lineSettings,
    };
  }

  /** Waits until the screen shows it; answers that screen. `what` names it where it never comes. */
  async until(look: Look, what: string = nameOf(look)): Promise<readonly string[]> {
    let lines: readonly string[] = [];
    const isSeen = async () => {
      const written = this.#written.length;
      const isPainting = this.#isOn("2026");
      lines = await this.screen();
      // What came meanwhile may have been half painted when the screen was taken, and be whole by now.
      const isWhole = !isPainting && written === this.#written.length;
      return isWhole && shows(look, lines);
    };
    if (await this.#wait(isSeen)) return lines;
    const why = this.#end() ? `the program ended with ${this.#end()?.code}` : "time is over";
    throw new Error(`The screen never showed ${what}; ${why}. It shows:\n${framed(lines)}`);
  }

  /** Waits until the screen shows it no more. */
  async untilGone(look: Look): Promise<readonly string[]> {
    return this.until((lines) => !shows(look, lines), `an end of ${nameOf(look)}`);
  }

  /** The exit code, once the program ended; 128 and the signal's number where a signal ended it. */
  async exitCode(): Promise<number> {
    await this.#wait(async () => this.#end() !== undefined);
    const end = this.#end();
    if (end) return end.code;
    throw new Error(`The program does not end. It shows:\n${framed(await this.screen())}`);
  }

  /** Brings the program back that a person has suspended, as `fg` does; waits until it is. */
  async foreground(): Promise<void> {
    if (!(await this.#wait(async () => this.#timesStopped() > this.#broughtBack)))
      throw new Error("The program is not suspended.");
    this.#broughtBack++;
    await this.press("Enter");
  }

  get pid(): number {
    return Number(/\]7387;pid=(\d+)/.exec(this.#written)?.[1]);
  }

  /** Sends a signal to the program, not to the shell around it. */
  async signal(name: NodeJS.Signals): Promise<void> {
    if (!(await this.#wait(async () => this.pid > 0))) throw new Error("It never started.");
    process.kill(this.pid, name);
  }

  /** Takes the terminal away, as by closing its window. */
  async hangUp(): Promise<void> {
    await this.#tmux.ask("kill-server").catch(() => undefined);
  }

  /** Ends the program at once, and is over when it is gone: nothing of it writes into a home that is removed then. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.pid > 0 && !this.#hasEnded && this.#end() === undefined) {
      try {
        process.kill(this.pid, "SIGKILL");
      } catch {
        // It has just ended by itself.
      }
      await this.#wait(async () => this.#end() !== undefined);
    }
    await this.#tmux[Symbol.asyncDispose]();
  }

  /** Asks again after everything that is written, until yes, the end of the program or the end of patience. */
  async #wait(isDone: () => Promise<boolean>): Promise<boolean> {
    const late = AbortSignal.timeout(this.#patienceMs);
    for (;;) {
      const seen = this.#written.length;
      const isOver = late.aborted || this.#hasEnded || this.#end() !== undefined;
      if (await isDone()) return true;
      if (isOver) return false;
      if (seen !== this.#written.length) continue;
      await new Promise<void>((resolve) => {
        const done = () => {
          this.#changed.delete(done);
          late.removeEventListener("abort", done);
          resolve();
        };
        this.#changed.add(done);
        late.addEventListener("abort", done);
        if (late.aborted) done();
      });
    }
  }

  #timesStopped(): number {
    return this.#written.split("]7387;stopped").length - 1;
  }

  #take(text: string): void {
    this.#written += text;
    for (const changed of this.#changed) changed();
  }

  /** Whether the program has a private mode of this number switched on. */
  #isOn(mode: string): boolean {
    return (
      this.#written.lastIndexOf(`\x1b[?${mode}h`) > this.#written.lastIndexOf(`\x1b[?${mode}l`)
    );
  }

  #end(): { code: number; lineSettings: "as before" | "changed" } | undefined {
    const end = /\]7387;code=(\d+);(as before|changed)/.exec(this.#written.slice(-4_096));
    if (!end) return undefined;
    return { code: Number(end[1]), lineSettings: end[2] === "changed" ? "changed" : "as before" };
  }
}

export function shows(look: Look, lines: readonly string[]): boolean {
  if (typeof look === "function") return look(lines);
  const text = lines.join("\n");
  return typeof look === "string" ? text.includes(look) : look.test(text);
}

function nameOf(look: Look): string {
  if (typeof look === "string") return JSON.stringify(look);
  return look instanceof RegExp ? String(look) : "what was asked for";
}

function framed(lines: readonly string[]): string {
  return lines.map((line) => `│${line}`).join("\n");
}
