// The image on this computer's clipboard, where it has one: asked of the platform's own programs.

import { execFile } from "node:child_process";
import { getNativeClipboard } from "@earendil-works/pi-tui";
import { Fault } from "@lichen/wire";

const programs: readonly (readonly [string, readonly string[]])[] = [
  ["wl-paste", ["--no-newline", "--type", "image/png"]],
  ["xclip", ["-selection", "clipboard", "-target", "image/png", "-out"]],
  ["pngpaste", ["-"]],
];
const patienceMs = 3_000;

/** Throws a `Fault` where there is no image, or no way to it. */
export async function clipboardImage(): Promise<Uint8Array> {
  const native = await getNativeClipboard()
    ?.getImage()
    .catch(() => undefined);
  if (native !== undefined && native !== null) return native;
  for (const [program, args] of programs) {
    const bytes = await output(program, args);
    if (bytes !== undefined && bytes.length > 0) return bytes;
  }
  throw new Fault(
    "invalid",
    "No image on the clipboard can be reached from here. Attach a file instead: /attach <path>, or drop it into the window.",
  );
}

function output(program: string, args: readonly string[]): Promise<Uint8Array | undefined> {
  return new Promise((resolve) => {
    const options = { encoding: "buffer", timeout: patienceMs, maxBuffer: 16 * 1_048_576 } as const;
    execFile(program, args, options, (error, bytes) => resolve(error ? undefined : bytes));
  });
}
