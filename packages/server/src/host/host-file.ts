// `<state>/host.json`: where the host of a state directory listens, while it runs.
//
//   The file appears whole or not at all, for its owner's eyes only, and goes with a clean exit. One that a crash
//   left behind harms nobody: before a reader says anything, the listener has to prove that it knows the token and that
//   this address is its own. Else it could be told by somebody in between who has the true host prove it.

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createHash, randomBytes } from "node:crypto";
import { Fault } from "@lichen/wire";
import * as z from "zod";
import { readCapped } from "../door/body.ts";
import { isEqual, sign, vouchText } from "../door/proof.ts";
import { writePrivately } from "./private-file.ts";
import { readOwnerToken } from "./token.ts";

const HostFile = z.object({ url: z.url({ protocol: /^https?$/ }), pid: z.int().positive() });
export type HostFile = z.infer<typeof HostFile>;

/** Writes the file; the answer removes it again if it is still this host's. */
export function writeHostFile(stateDir: string, file: HostFile): () => void {
  writePrivately(hostPath(stateDir), JSON.stringify(file));
  return () => {
    const now = readHostFile(stateDir);
    if (now?.pid === file.pid && now.url === file.url) rmSync(hostPath(stateDir), { force: true });
  };
}

/** What the file says; undefined where there is none that can be read. */
export function readHostFile(stateDir: string): HostFile | undefined {
  let text: string;
  try {
    text = readFileSync(hostPath(stateDir), "utf8");
  } catch {
    // No host wrote one, or it is not ours to read: either way nobody is known to listen.
    return undefined;
  }
  try {
    return HostFile.parse(JSON.parse(text));
  } catch {
    // A torn or foreign file names no host.
    return undefined;
  }
}

/** How looking for the host of a state directory ended. */
export type Connection =
  | {
      readonly found: "host";
      readonly url: string;
      readonly token: string;
      readonly status: string;
    }
  /** None runs, or none answers. */
  | { readonly found: "none" }
  /** A file names a host, and the token to prove it by is gone. */
  | { readonly found: "tokenless" }
  /** Somebody else listens at the address: nothing was told to them. */
  | { readonly found: "stranger"; readonly url: string };

/** More than a host's answer ever is. */
const answerCap = 65_536;
const Health = z.object({
  status: z.string(),
  /** None where the listener knows no such device. */
  proof: z.string().default(""),
  vouch: z.string().optional(),
});
const Refusal = z.object({ error: z.object({ code: z.literal("denied") }) });

/** Finds the running host and makes it prove that it is it, at this very address, before the token is sent anywhere. */
export async function connectHost(
  stateDir: string,
  { timeoutMs = 2_000 }: { timeoutMs?: number } = {},
): Promise<Connection> {
  const file = readHostFile(stateDir);
  if (!file) return { found: "none" };
  const isTokenless = readOwnerToken(stateDir) === undefined;
  const heard = await challengeHost(file.url, { timeoutMs });
  if (heard.answer === "none") return { found: isTokenless ? "tokenless" : "none" };
  // What no host of ours answers shows a stranger, token or not.
  if (heard.answer === "endless") return { found: "stranger", url: file.url };
  // A host whose token file went away writes it again before it answers.
  const token = readOwnerToken(stateDir);
  if (token === undefined) return { found: "tokenless" };
  if (heard.answer !== "host" || (await heard.proof(token)) !== "vouched")
    return { found: "stranger", url: file.url };
  return { found: "host", url: file.url, token, status: heard.status };
}

/** What answered a challenge. */
export type Challenged =
  /** Nothing: it refuses, hangs or breaks off. */
  | { readonly answer: "none" }
  /** More than any host answers. */
  | { readonly answer: "endless" }
  /** Something that no host answers. */
  | { readonly answer: "foreign" }
  /** A refusal as hosts give it: the address is none of its names. */
  | { readonly answer: "denied" }
  | {
      readonly answer: "host";
      readonly status: string;
      proof(token: string): Promise<Proof>;
    };

/**
 * What a listener has proven of this owner's token: `vouched`, that it is the host and that this very address is its own;
 * `known`, that it knows the token or passes on what the host says, which is no reason to tell it; or nothing.
 */
export type Proof = "vouched" | "known" | "none";

/** Challenges the listener at a url: it is told a nonce and nothing else, but for the id of the device whose key it is to prove. */
export async function challengeHost(
  url: string,
  { timeoutMs, device }: { timeoutMs: number; device?: string },
): Promise<Challenged> {
  const whose = device === undefined ? "" : `&device=${encodeURIComponent(device)}`;
  const nonce = randomBytes(32).toString("base64url");
  let bytes: Uint8Array;
  try {
    const response = await fetch(`${url.replace(/\/+$/, "")}/health?challenge=${nonce}${whose}`, {
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    });
    bytes = await readCapped(response, answerCap);
  } catch (error) {
    // What refuses, hangs or breaks off is no host that runs; only an answer can show a stranger.
    return { answer: Fault.is(error) ? "endless" : "none" };
  }
  const answer = readAnswer(bytes);
  const { success: isHealth, data: health } = Health.safeParse(answer);
  if (!isHealth) return { answer: Refusal.safeParse(answer).success ? "denied" : "foreign" };
  const { status, proof, vouch = "" } = health;
  const { host } = new URL(url);
  return {
    answer: "host",
    status,
    proof: async (token) => {
      // Of a device's key the host knows the digest alone.
      const secret =
        device === undefined ? token : createHash("sha256").update(token).digest("hex");
      if (isEqual(vouch, await sign(secret, vouchText(nonce, host)))) return "vouched";
      return isEqual(proof, await sign(secret, nonce)) ? "known" : "none";
    },
  };
}

function readAnswer(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    // Whoever answers like this is no host of ours; what else it is does not matter.
    return undefined;
  }
}

function hostPath(stateDir: string): string {
  return join(stateDir, "host.json");
}
