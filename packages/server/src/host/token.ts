// The tokens of a host: the owner's in `<state>/token`, all others as digests in `<state>/tokens.json`.
//
//   Files are for their owner's eyes only (0600) and replaced whole.
//   The owner's token survives restarts and can be rotated; a token that was rotated or revoked, by this process or
//   another, is good for one more second at most, and so is every cookie it was exchanged for.
//   A token file that went away while its host runs is written again as soon as anybody asks who the host is.

import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { makeFolder, toSystemRefusal } from "@lichen/runtime/node";
import { Fault } from "@lichen/wire";
import * as z from "zod";
import type { KnownToken, TokenBook } from "../door/credentials.ts";
import { sign } from "../door/proof.ts";
import type { Principal } from "../door/rights.ts";
import { writePrivately } from "./private-file.ts";

const checkEveryMs = 1_000;

const Issued = z.discriminatedUnion("kind", [
  z.object({ id: z.string(), sha256: z.string(), kind: z.literal("viewer"), issuedAt: z.string() }),
  z.object({
    id: z.string(),
    sha256: z.string(),
    kind: z.literal("session"),
    agent: z.string(),
    session: z.string(),
    issuedAt: z.string(),
  }),
]);
type Issued = z.infer<typeof Issued>;
const TokensFile = z.object({ tokens: z.array(Issued) });

/** Whom a further token is for. The owner's is not issued: it is the one in the file. */
export type Grantee = Extract<Principal, { kind: "viewer" | "session" }>;

export class HostTokens implements TokenBook {
  readonly #stateDir: string;
  readonly #now: () => number;
  #owner: string;
  #known: KnownToken[] = [];
  #stamp = "";
  #checkedAt: number;

  constructor(stateDir: string, now: () => number) {
    this.#stateDir = stateDir;
    this.#now = now;
    makeFolder(stateDir, `The state directory ${stateDir}`);
    this.#owner = readOwnerToken(stateDir) ?? this.#makeOwner();
    this.#load();
    this.#checkedAt = now();
  }

  /** The owner's token itself, for the line that `lichen start --json` prints. */
  get owner(): string {
    return this.#owner;
  }

  tokens(): readonly KnownToken[] {
    const now = this.#now();
    if (Math.abs(now - this.#checkedAt) >= checkEveryMs) {
      this.#checkedAt = now;
      this.#refresh();
    }
    return this.#known;
  }

  sha256(text: string): string {
    return createHash("sha256").update(text).digest("hex");
  }

  prove(text: string): Promise<string> {
    try {
      // Whoever challenges the host read the file just now, and says that token next.
      this.#refresh();
    } catch (error) {
      if (!Fault.is(error)) throw error;
      // Nothing to prove by: told to the next who comes with a token.
      this.#stamp = "";
    }
    return sign(this.#owner, text);
  }

  /** Makes a token for somebody. It is shown this once; what stays is its digest. */
  issue(grantee: Grantee): { id: string; token: string } {
    const token = newToken();
    const id = `tok_${randomBytes(9).toString("base64url")}`;
    const common = {
      id,
      sha256: this.sha256(token),
      issuedAt: new Date(this.#now()).toISOString(),
    };
    this.#write([
      ...this.#read(),
      grantee.kind === "viewer"
        ? { ...common, kind: "viewer" }
        : { ...common, kind: "session", agent: grantee.agent, session: grantee.session },
    ]);
    return { id, token };
  }

  /** Whether there was such a token; it is none any more. */
  revoke(id: string): boolean {
    const issued = this.#read();
    const kept = issued.filter((token) => token.id !== id);
    if (kept.length === issued.length) return false;
    this.#write(kept);
    return true;
  }

  /** Replaces the owner's token: the old one and its cookies are void at once. */
  rotate(): string {
    this.#makeOwner();
    this.#load();
    return this.#owner;
  }

  #makeOwner(): string {
    this.#owner = newToken();
    writePrivately(ownerTokenPath(this.#stateDir), `${this.#owner}\n`);
    return this.#owner;
  }

  /** Both files as they stand now. */
  #refresh(): void {
    this.#restore();
    if (this.#stampNow() !== this.#stamp) this.#load();
  }

  /** Whoever lost the token could say nothing to this host any more, not even that it should stop. */
  #restore(): void {
    if (existsSync(ownerTokenPath(this.#stateDir))) return;
    try {
      writePrivately(ownerTokenPath(this.#stateDir), `${this.#owner}\n`);
    } catch {
      // The disk may be full just now; the next who asks tries again.
    }
  }

  #read(): Issued[] {
    let text: string;
    try {
      text = readFileSync(tokensPath(this.#stateDir), "utf8");
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
    try {
      return TokensFile.parse(JSON.parse(text)).tokens;
    } catch (cause) {
      throw new Fault(
        "unreadable",
        "tokens.json in the state directory cannot be read: mend it, or remove it to void all tokens but the owner's.",
        { cause },
      );
    }
  }

  #write(tokens: Issued[]): void {
    writePrivately(tokensPath(this.#stateDir), JSON.stringify({ tokens }, null, 2));
    this.#load();
  }

  #load(): void {
    this.#stamp = this.#stampNow();
    this.#owner = readOwnerToken(this.#stateDir) ?? this.#owner;
    // What was good before is void, also where the other file cannot be read.
    this.#known = [{ id: "owner", sha256: this.sha256(this.#owner), principal: { kind: "owner" } }];
    this.#known = [...this.#known, ...this.#read().map(toKnown)];
  }

  /** Tells whether either file was replaced since: both are only ever replaced whole. */
  #stampNow(): string {
    return [ownerTokenPath(this.#stateDir), tokensPath(this.#stateDir)]
      .map((path) => {
        const stat = statSync(path, { throwIfNoEntry: false });
        return stat ? `${stat.ino}:${stat.mtimeMs}:${stat.size}` : "-";
      })
      .join(" ");
  }
}

/** The owner's token of a state directory; undefined where none was made yet. */
export function readOwnerToken(stateDir: string): string | undefined {
  let token: string;
  try {
    // Reading a pipe would wait for its other end.
    if (statSync(ownerTokenPath(stateDir), { throwIfNoEntry: false })?.isFIFO())
      throw new Fault(
        "invalid",
        "`token` in the state directory is a pipe: move it away and one is made.",
      );
    token = readFileSync(ownerTokenPath(stateDir), "utf8").trim();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw toSystemRefusal(error, "the file token in the state directory");
  }
  if (token === "") return undefined;
  if (!/^[\x21-\x7e]{32,512}$/.test(token))
    throw new Fault(
      "invalid",
      "The file `token` in the state directory holds no usable token (32 to 512 printable characters): remove it and one is made.",
    );
  return token;
}

function toKnown(token: Issued): KnownToken {
  const { id, sha256 } = token;
  return token.kind === "viewer"
    ? { id, sha256, principal: { kind: "viewer" } }
    : { id, sha256, principal: { kind: "session", agent: token.agent, session: token.session } };
}

function newToken(): string {
  return `lichen_${randomBytes(32).toString("base64url")}`;
}

/** Where the owner's token of a state directory lies. */
export function ownerTokenPath(stateDir: string): string {
  return join(stateDir, "token");
}

function tokensPath(stateDir: string): string {
  return join(stateDir, "tokens.json");
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
