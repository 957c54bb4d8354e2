import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { MadeDirectories } from "../../src/sessions/made-directories.ts";
import {
  isDirectory,
  makeDirectory,
  placeOf,
  SessionName,
} from "../../src/sessions/session-name.ts";

const home = mkdtempSync(join(tmpdir(), "lichen-place-"));
afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

test("[MA4] a session's name begins with a letter or a digit, holds letters, digits, dot, dash and underscore, and is 64 long at most", () => {
  for (const name of ["a", "9", "build.v2_final-1", "A".repeat(64)])
    expect(SessionName.safeParse(name).success).toBe(true);
  for (const name of ["", ".a", "-a", "_a", "a b", "a/b", "é", "a\n", "A".repeat(65)])
    expect(SessionName.safeParse(name).success).toBe(false);
});

test("[MA5] a directory may begin with ~ for the home of the machine's user; another's home, and a relative one, are refused", () => {
  expect(placeOf("~", "/home/me")).toBe("/home/me");
  expect(placeOf("~/code/../x", "/home/me")).toBe("/home/me/x");
  expect(placeOf("/tmp/~/x", "/home/me")).toBe("/tmp/~/x");
  for (const wrong of ["", "  ", "/a\0b", "~other", "~other/x", "work", "./x", "../x", " /x", "-"])
    expect(() => placeOf(wrong, "/home/me")).toThrow(/^dir: /);
  expect(() => placeOf("~other/x", "/home/me")).toThrow("~other is nobody's home here");
  expect(() => placeOf("work/x", "/home/me")).toThrow("work/x is relative");
});

test("[MA5] a directory that is made is taken back with those above it where its request fails, but for what somebody has put there", async () => {
  const directories = new MadeDirectories();
  const path = join(home, "a", "b", "c");
  expect(isDirectory(path)).toBe(false);
  const failed = directories.during(path, () => {
    expect(statSync(path).mode & 0o777).toBe(0o755);
    writeFileSync(join(home, "a", "kept"), "");
    return Promise.reject(new Error("refused"));
  });
  await expect(failed).rejects.toThrow("refused");
  expect(existsSync(join(home, "a", "b"))).toBe(false);
  expect(existsSync(join(home, "a", "kept"))).toBe(true);
  expect(() => isDirectory(join(home, "a", "kept"))).toThrow(/is a file/);
  expect(() => isDirectory(join(home, "a", "kept", "below"))).toThrow(/dir:/);
  expect(() => makeDirectory("/proc/nowhere/x")).toThrow(/dir:/);
});

test("[MA5] of requests that want one missing directory at once a refused one takes nothing from the others, and the last of them leaves none", async () => {
  const directories = new MadeDirectories();
  const within = (path: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const over = directories.during(join(home, path), () => promise).catch(() => "refused");
    return { accept: () => (resolve(), over), refuse: () => (reject(new Error()), over) };
  };
  const [maker, other, below] = [within("d/e"), within("d/e"), within("d/e/f")];
  await maker.refuse();
  expect(existsSync(join(home, "d/e/f"))).toBe(true);
  await below.refuse();
  expect(existsSync(join(home, "d/e/f"))).toBe(false);
  await other.accept();
  await within("d/e").refuse();
  expect(existsSync(join(home, "d/e"))).toBe(true);
  const [one, two] = [within("g/h"), within("g/i")];
  await one.refuse();
  expect([existsSync(join(home, "g/h")), existsSync(join(home, "g/i"))]).toEqual([false, true]);
  await two.refuse();
  expect(existsSync(join(home, "g"))).toBe(false);
});
