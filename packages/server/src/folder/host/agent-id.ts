// An agent's id: made once, kept in `.lichen/agent.json` of its folder (no secret), so that a folder that is moved or
// renamed keeps its history.

import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { sweepPlaceholders } from "@lichen/engine/node";
import { AgentName, Fault } from "@lichen/wire";
import * as z from "zod";

const maxBytes = 4_096;
const AgentFile = z.object({ id: AgentName });

/** The agent's id. It begins with the name the folder had when it was made, for people's eyes. */
export function agentIdOf(dir: string): string {
  const file = join(dir, ".lichen", "agent.json");
  const known = read(file);
  if (known !== undefined) return known;
  const draft = `${file}.${randomBytes(6).toString("hex")}`;
  try {
    sweepPlaceholders([join(dir, ".lichen")]);
    mkdirSync(join(dir, ".lichen"), { recursive: true });
    writeFileSync(draft, `${JSON.stringify({ id: newId(dir) }, null, 2)}\n`, { flush: true });
    // A link appears whole or not at all, and never over another process's.
    linkSync(draft, file);
  } catch (error) {
    if (!isCode(error, "EEXIST"))
      throw new Fault(
        "unavailable",
        `The agent's id cannot be written to .lichen/agent.json (${String((error as NodeJS.ErrnoException).code)}). Make the folder writable once, or create that file yourself: {"id":"${newId(dir)}"}.`,
        { retryable: false, cause: error },
      );
  } finally {
    rmSync(draft, { force: true });
  }
  const id = read(file);
  if (id === undefined) throw new Error("The agent's id was written and is not there.");
  return id;
}

function read(file: string): string | undefined {
  let descriptor: number;
  try {
    // Whatever stands there: a pipe must not hold the host up.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (isCode(error, "ENOENT")) return undefined;
    throw error;
  }
  let text = "";
  try {
    if (fstatSync(descriptor).isFile()) {
      const bytes = Buffer.alloc(maxBytes);
      text = bytes.toString("utf8", 0, readSync(descriptor, bytes, 0, maxBytes, 0));
    }
  } finally {
    closeSync(descriptor);
  }
  const parsed = AgentFile.safeParse(parseJson(text));
  if (parsed.success) return parsed.data.id;
  throw new Fault(
    "invalid",
    '.lichen/agent.json holds no id. It names this agent\'s history: restore it, or delete it to begin a new history. It looks like {"id":"hello-3f9k2m1x"}.',
  );
}

function newId(dir: string): string {
  const words = basename(dir)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 32);
  return `${words || "agent"}-${randomBytes(5).toString("hex")}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
