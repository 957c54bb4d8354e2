// A secret typed at the terminal, of which nothing is shown.

/** What terminals put around what is pasted. */
const pasteMarks = ["\u001b[200~", "\u001b[201~"];

/** The line as typed, trimmed; empty where it was broken off. Needs stdin and stderr to be a terminal. */
export async function askSecret(prompt: string): Promise<string> {
  const { stdin, stderr } = process;
  stderr.write(prompt);
  stdin.setRawMode(true);
  stdin.setEncoding("utf8");
  let typed = "";
  try {
    for await (const chunk of stdin.iterator({ destroyOnReturn: false })) {
      let typing = String(chunk);
      for (const mark of pasteMarks) typing = typing.replaceAll(mark, "");
      for (const character of typing) {
        if (character === "\r" || character === "\n") return typed.trim();
        if (character === "\u0003" || character === "\u0004" || character === "\u001b") return "";
        if (character === "\u007f" || character === "\b") typed = typed.slice(0, -1);
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
