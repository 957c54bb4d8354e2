import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { use, workbench } from "./workbench.ts";

const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

test("[C1] read gives the asked lines of a file and says how to go on", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  const lines = Array.from({ length: 5_000 }, (_, index) => `line ${index + 1}`);
  writeFileSync(join(bench.cwd, "long.txt"), lines.join("\n"));
  const first = await use(tools, "read", { path: "long.txt" });
  expect(first.text.split("\n").slice(1_999)).toEqual([
    "line 2000",
    "[There is more. Continue with offset=2001.]",
  ]);
  const middle = await use(tools, "read", { path: "long.txt", offset: 2_001, limit: 2 });
  expect(middle.text).toBe("line 2001\nline 2002\n[There is more. Continue with offset=2003.]");
  const last = await use(tools, "read", { path: "long.txt", offset: 4_999 });
  expect(last.text).toBe("line 4999\nline 5000");
  const past = await use(tools, "read", { path: "long.txt", offset: 6_000 });
  expect(past).toMatchObject({
    isError: true,
    text: "long.txt has 5000 lines; line 6000 is past its end.",
  });
});

test("[C1] read stays within 50 KB however long the lines are", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  writeFileSync(join(bench.cwd, "wide.txt"), `${"x".repeat(1_000)}\n`.repeat(100));
  writeFileSync(join(bench.cwd, "one.txt"), `${"y".repeat(300_000)}\nend`);
  const wide = await use(tools, "read", { path: "wide.txt" });
  expect(wide.text).toContain("[There is more. Continue with offset=52.]");
  const one = await use(tools, "read", { path: "one.txt" });
  expect(one.text.length).toBeLessThan(52_000);
  expect(one.text).toContain("[Line 1 is longer than 51200 bytes and was cut.]");
  expect((await use(tools, "read", { path: "one.txt", offset: 2 })).text).toBe("end");
});

test("[C1] read keeps characters whole, reads an empty file and a file that ends with a line break", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  writeFileSync(join(bench.cwd, "letters.txt"), `${"ä".repeat(40_000)}\n`.repeat(2));
  writeFileSync(join(bench.cwd, "empty.txt"), "");
  writeFileSync(join(bench.cwd, "two.txt"), "a\nb\n");
  expect((await use(tools, "read", { path: "letters.txt" })).text).not.toContain("\uFFFD");
  expect(await use(tools, "read", { path: "empty.txt" })).toMatchObject({
    isError: false,
    text: "",
  });
  expect((await use(tools, "read", { path: "two.txt" })).text).toBe("a\nb");
});

test("[C2] read shows an image as an image, by its bytes and not its name, and refuses other binary files", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  writeFileSync(join(bench.cwd, "picture.txt"), Buffer.from(pixel, "base64"));
  writeFileSync(join(bench.cwd, "program.png"), Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0, 1]));
  const picture = await use(tools, "read", { path: "picture.txt" });
  expect(picture.content).toEqual([{ type: "image", mimeType: "image/png", data: pixel }]);
  const program = await use(tools, "read", { path: "program.png" });
  expect(program).toMatchObject({ isError: true });
  expect(program.text).toContain("binary");
});

test("[C2] what is no regular file is refused at once, and a missing one by the name it was asked for", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  const missing = await use(tools, "read", { path: "nowhere/x.txt" });
  expect(missing).toMatchObject({ isError: true, text: "nowhere/x.txt does not exist." });
  expect((await use(tools, "read", { path: "." })).text).toContain("is a folder");
  expect((await use(tools, "read", { path: "/dev/zero" })).text).toContain("not a regular file");
});

test("[C3] write makes folders, replaces a file as a whole, keeps its mode and leaves nothing beside it", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  const created = await use(tools, "write", { path: "a/b/run.sh", content: "echo 1\n" });
  expect(created).toMatchObject({ isError: false, text: "Created a/b/run.sh (7 bytes)." });
  chmodSync(join(bench.cwd, "a/b/run.sh"), 0o750);
  await use(tools, "write", { path: "a/b/run.sh", content: "echo 2\n" });
  expect(readFileSync(join(bench.cwd, "a/b/run.sh"), "utf8")).toBe("echo 2\n");
  expect(statSync(join(bench.cwd, "a/b/run.sh")).mode & 0o777).toBe(0o750);
  expect(readdirSync(join(bench.cwd, "a/b"))).toEqual(["run.sh"]);
});

test("[C3] a reader never sees a part of a write", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  const path = join(bench.cwd, "big.txt");
  const contents = ["a".repeat(3_000_000), "b".repeat(3_000_000)];
  writeFileSync(path, contents[0] ?? "");
  let isWriting = true;
  const writing = (async () => {
    for (let turn = 1; turn <= 6; turn++)
      await use(tools, "write", { path: "big.txt", content: contents[turn % 2] ?? "" });
    isWriting = false;
  })();
  while (isWriting) {
    expect(contents.includes(readFileSync(path, "utf8"))).toBe(true);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await writing;
});

test("[C3] a write that fails leaves the old file and no temporary one; a write through a link keeps the link", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  mkdirSync(join(bench.cwd, "folder"));
  const refused = await use(tools, "write", { path: "folder", content: "x" });
  expect(refused).toMatchObject({ isError: true, text: "folder is a folder." });
  const under = await use(tools, "write", { path: "folder/../kept.txt/x", content: "x" });
  expect(under.isError).toBe(false);
  writeFileSync(join(bench.cwd, "plain.txt"), "old");
  const below = await use(tools, "write", { path: "plain.txt/x", content: "x" });
  expect(below.isError).toBe(true);
  expect(readFileSync(join(bench.cwd, "plain.txt"), "utf8")).toBe("old");
  symlinkSync("plain.txt", join(bench.cwd, "link.txt"));
  await use(tools, "write", { path: "link.txt", content: "new" });
  expect(readFileSync(join(bench.cwd, "plain.txt"), "utf8")).toBe("new");
  expect(readdirSync(bench.cwd)).toEqual(["folder", "kept.txt", "link.txt", "plain.txt"]);
});

test("[C4] edit replaces an exact text that stands there once and shows what changed", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  const path = join(bench.cwd, "poem.txt");
  writeFileSync(path, "one\ntwo\nthree\nfour\nfive\nsix\n");
  const edited = await use(tools, "edit", {
    path: "poem.txt",
    edits: [{ oldText: "three\nfour", newText: "3\n4\n4½" }],
  });
  expect(readFileSync(path, "utf8")).toBe("one\ntwo\n3\n4\n4½\nfive\nsix\n");
  expect(edited.data).toEqual({
    path: "poem.txt",
    diff: "@@ -1,7 +1,8 @@\n one\n two\n-three\n-four\n+3\n+4\n+4½\n five\n six\n ",
  });
});

test("[C4] an edit that is not possible says why and changes nothing, also the other edits of the call", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  const path = join(bench.cwd, "list.txt");
  const before = "apple\npear\napple\n";
  writeFileSync(path, before);
  const reasons = [];
  for (const edits of [
    [{ oldText: "apple", newText: "fig" }],
    [{ oldText: "plum", newText: "fig" }],
    [{ oldText: "pear", newText: "pear" }],
    [{ oldText: "", newText: "fig" }],
    [
      { oldText: "pear", newText: "fig" },
      { oldText: "plum", newText: "fig" },
    ],
    [
      { oldText: "apple\npear", newText: "fig" },
      { oldText: "pear\napple", newText: "fig" },
    ],
  ]) {
    const outcome = await use(tools, "edit", { path: "list.txt", edits });
    expect(outcome.isError).toBe(true);
    expect(readFileSync(path, "utf8")).toBe(before);
    reasons.push(outcome.text);
  }
  expect(reasons).toEqual([
    "The text matches 2 times. Give more of its surroundings so that it matches once, or set replaceAll.",
    "The text was not found. It must match exactly, with every space and line break; read the file again.",
    "The edits change nothing: old and new text are the same.",
    "oldText is empty. Use write to make a file.",
    "Edit 2: The text was not found. It must match exactly, with every space and line break; read the file again.",
    "Two edits touch the same text. Make them one edit.",
  ]);
});

test("[C4] edit keeps line breaks of the file's kind, `$&` as it stands, and refuses what is not UTF-8", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  writeFileSync(join(bench.cwd, "dos.txt"), "\uFEFFa\r\nb\r\nb\r\n");
  await use(tools, "edit", {
    path: "dos.txt",
    edits: [
      { oldText: "a\nb", newText: "$&\nc" },
      { oldText: "b\n", newText: "d\n", replaceAll: true },
    ],
  });
  expect(readFileSync(join(bench.cwd, "dos.txt"), "utf8")).toBe("\uFEFFa\r\nb\r\nb\r\n");
  await use(tools, "edit", { path: "dos.txt", edits: [{ oldText: "a\nb", newText: "$&\nc" }] });
  expect(readFileSync(join(bench.cwd, "dos.txt"), "utf8")).toBe("\uFEFF$&\r\nc\r\nb\r\n");
  const bytes = Buffer.from([0x61, 0xff, 0x62]);
  writeFileSync(join(bench.cwd, "latin.txt"), bytes);
  const latin = await use(tools, "edit", {
    path: "latin.txt",
    edits: [{ oldText: "a", newText: "c" }],
  });
  expect(latin.text).toBe("latin.txt is not UTF-8 text, and editing it would damage it.");
  expect(readFileSync(join(bench.cwd, "latin.txt"))).toEqual(bytes);
});

test("[C5] edits of one file at the same time are all kept", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  const names = Array.from({ length: 20 }, (_, index) => `<${index}>`);
  writeFileSync(join(bench.cwd, "shared.txt"), names.join("\n"));
  const outcomes = await Promise.all(
    names.map((name) =>
      use(tools, "edit", {
        path: "shared.txt",
        edits: [{ oldText: name, newText: `${name} done` }],
      }),
    ),
  );
  expect(outcomes.filter((outcome) => outcome.isError)).toEqual([]);
  expect(readFileSync(join(bench.cwd, "shared.txt"), "utf8").match(/done/g)).toHaveLength(20);
});

test("[C6] ls lists hidden names, marks folders and says how many it left out", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  mkdirSync(join(bench.cwd, "src"));
  for (const name of [".env", "b.txt", "a.txt"]) writeFileSync(join(bench.cwd, name), "");
  expect((await use(tools, "ls", {})).text).toBe(".env\na.txt\nb.txt\nsrc/");
  expect((await use(tools, "ls", { limit: 3 })).text).toBe(
    ".env\na.txt\nb.txt\n[1 more. Raise limit to see them.]",
  );
  expect((await use(tools, "ls", { path: "src" })).text).toBe("(empty)");
});

test("[C12] tools that look are labelled read, tools that change things write, and none of those is run twice", async () => {
  using bench = workbench();
  const labels = (await bench.tools()).map(({ name, label, replaySafe }) => [
    name,
    label,
    replaySafe ?? false,
  ]);
  expect(labels).toEqual([
    ["read", "read", false],
    ["write", "write", false],
    ["edit", "write", false],
    ["bash", "write", false],
    ["grep", "read", false],
    ["find", "read", false],
    ["ls", "read", false],
  ]);
});

test("[C12] an agent gets all tools, none, or exactly the named ones; an unknown name is refused", async () => {
  using bench = workbench();
  const names = async (allow: boolean | string[]) =>
    (await bench.tools({ allow })).map((tool) => tool.name);
  expect(await names(true)).toHaveLength(7);
  expect(await names(false)).toEqual([]);
  expect(await names([])).toEqual([]);
  expect(await names(["ls", "read"])).toEqual(["read", "ls"]);
  await expect(names(["shell"])).rejects.toThrow("There is no coding tool shell.");
});

test("[C12] an input with a field too many or too few is refused before anything happens", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  const outcome = await use(tools, "write", { path: "x.txt", content: "x", mode: 7 });
  expect(outcome.text).toContain("Invalid arguments for write");
  expect((await use(tools, "write", { path: "x.txt" })).text).toContain("content");
  expect(readdirSync(bench.cwd)).toEqual([]);
});
