// A secret typed at the terminal, of which nothing is shown.

/** Ctrl-C, at a moment at which the keyboard belongs to a question. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** What terminals send for keys that are no characters, and put around what is pasted. */
// oxlint-disable-next-line no-control-regex -- they begin with the escape character
const sequences = /\u001b(?:\[[0-?]*[ -/]*[@-~]|O.|[^\u0000-\u001f\u007f[O])/gs;
/** The beginning of one of them, at the end of what came so far. */
// oxlint-disable-next-line no-control-regex -- they begin with the escape character
const begun = /\u001b(?:\[[0-?]*[ -/]*|O)?$/;

/**
 * The line as typed, trimmed; empty where it was broken off (Ctrl-D, or Escape and any key). Throws `Interrupted` at
 * Ctrl-C. Needs stdin and stderr to be a terminal.
 */
export async function askSecret(prompt: string): Promise<string> {
  const { stdin, stderr } = process;
  // Whoever sees the prompt may type: from then on nothing is shown.
  stdin.setRawMode(true);
  stderr.write(prompt);
  stdin.setEncoding("utf8");
  let typed = "";
  let rest = "";
  try {
    for await (const chunk of stdin.iterator({ destroyOnReturn: false })) {
      const came = String(chunk);
      // Escape by itself, and now something else.
      if (rest === "\u001b" && !/^[[O]/.test(came)) return "";
      const whole = (rest + came).replaceAll(sequences, "");
      rest = begun.exec(whole)?.[0] ?? "";
      for (const character of whole.slice(0, whole.length - rest.length)) {
        if (character === "\r" || character === "\n") return typed.trim();
        if (character === "\u0003") throw new Interrupted("The question was interrupted.");
        if (character === "\u0004" || character === "\u001b") return "";
        if (character === "\u007f" || character === "\b") typed = typed.replace(/.$/su, "");
        else if (character >= " ") typed += character;
      }
    }
    return "";
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write("\n");
  }
}
