import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sign } from "../../src/door/proof.ts";
import { HostTokens } from "../../src/host/token.ts";

describe("the tokens of a host", () => {
  let dir: string;
  let now: number;
  const open = () => new HostTokens(join(dir, "state"), () => now);
  const path = (name: string) => join(dir, "state", name);
  const mode = (name: string) => statSync(path(name)).mode & 0o777;
  const knows = (tokens: HostTokens, token: string) =>
    tokens.tokens().find((known) => known.sha256 === tokens.sha256(token))?.principal;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "lichen-token-"));
    now = 1_000_000;
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  test("[H20] the owner's token is made once, survives restarts and is readable by its owner alone", () => {
    const first = open().owner;
    expect(first).toMatch(/^lichen_[A-Za-z0-9_-]{43}$/);
    expect(open().owner).toBe(first);
    expect(readFileSync(path("token"), "utf8").trim()).toBe(first);
    expect(mode("token")).toBe(0o600);
    expect(statSync(join(dir, "state")).mode & 0o777).toBe(0o700);
  });

  test("[H20] a rotated token is void at once in this process and within a second in another", () => {
    const here = open();
    const there = open();
    const old = here.owner;
    const fresh = here.rotate();
    expect(fresh).not.toBe(old);
    expect(knows(here, old)).toBeUndefined();
    expect(knows(here, fresh)).toEqual({ kind: "owner" });
    now += 1_000;
    expect(knows(there, old)).toBeUndefined();
    expect(knows(there, fresh)).toEqual({ kind: "owner" });
    expect(there.owner).toBe(fresh);
  });

  test("[H20] a token that somebody wrote into the file is proven by and good at once, and the former is void", async () => {
    const tokens = open();
    const old = tokens.owner;
    const other = "o".repeat(40);
    writeFileSync(path("token"), `${other}\n`);
    expect(await tokens.prove("challenge")).toBe(await sign(other, "challenge"));
    expect(knows(tokens, other)).toEqual({ kind: "owner" });
    expect(knows(tokens, old)).toBeUndefined();
  });

  test("[H20] where a token file is spoilt while its host runs, the host goes on under the last token that was usable", async () => {
    const tokens = open();
    const viewer = tokens.issue({ kind: "viewer" });
    const old = tokens.owner;
    writeFileSync(path("token"), "short\n");
    expect(await tokens.prove("challenge")).toBe(await sign(old, "challenge"));
    expect(knows(tokens, old)).toEqual({ kind: "owner" });
    now += 1_000;
    expect(() => tokens.tokens()).toThrow(/remove it and one is made/);
    const other = "o".repeat(40);
    writeFileSync(path("token"), other);
    writeFileSync(path("tokens.json"), "{");
    expect(await tokens.prove("challenge")).toBe(await sign(other, "challenge"));
    expect(knows(tokens, other)).toEqual({ kind: "owner" });
    expect(knows(tokens, old)).toBeUndefined();
    expect(knows(tokens, viewer.token)).toBeUndefined();
    now += 1_000;
    expect(() => tokens.tokens()).toThrow(/tokens\.json/);
  });

  test("[H20] issued tokens are kept as digests, survive restarts, and are void when revoked", () => {
    const tokens = open();
    const viewer = tokens.issue({ kind: "viewer" });
    const own = tokens.issue({ kind: "session", agent: "a", session: "s" });
    const stored = readFileSync(path("tokens.json"), "utf8");
    expect(stored).not.toContain(viewer.token);
    expect(stored).not.toContain(own.token);
    expect(mode("tokens.json")).toBe(0o600);

    const again = open();
    expect(knows(again, viewer.token)).toEqual({ kind: "viewer" });
    expect(knows(again, own.token)).toEqual({ kind: "session", agent: "a", session: "s" });
    expect(again.revoke(viewer.id)).toBe(true);
    expect(again.revoke(viewer.id)).toBe(false);
    expect(knows(again, viewer.token)).toBeUndefined();
    now += 1_000;
    expect(knows(tokens, viewer.token)).toBeUndefined();
  });

  test("[H20] a token file that a person spoilt is refused with what to do, not replaced", () => {
    open();
    writeFileSync(path("token"), "short\n");
    expect(open).toThrow(/remove it and one is made/);
    expect(readFileSync(path("token"), "utf8")).toBe("short\n");
    writeFileSync(path("token"), "");
    expect(open().owner).toMatch(/^lichen_/);
    writeFileSync(path("tokens.json"), "{");
    expect(open).toThrow(/tokens\.json/);
  });
});
