// A key that another program gives on stdin.

import { Fault } from "@lichen/wire";

const patienceMs = 60_000;
const mostBytes = 65_536;

/** All of stdin, up to 64 KiB. Refuses where it does not end within a minute. */
export async function readKey(): Promise<string> {
  const late = setTimeout(
    () => process.stdin.destroy(new Fault("invalid", "No key came on stdin within a minute.")),
    patienceMs,
  );
  try {
    let text = "";
    for await (const chunk of process.stdin.setEncoding("utf8")) {
      text += String(chunk);
      if (text.length > mostBytes) throw new Fault("too_large", "What came on stdin is no key.");
    }
    return text;
  } finally {
    clearTimeout(late);
  }
}
