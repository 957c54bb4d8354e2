import {
  linkSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { CallContext, Connector, Image, JsonObject } from "@lichen/capability";
import { createFilesConnector, createSkillsConnector } from "@lichen/capability/connectors";
import * as fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { openFiles } from "../../src/connectors/host/files-on-node.ts";
import { parseSkill } from "../../src/folder/skill.ts";
import { TempFolder } from "../folder/temp-folder.ts";

function rig(mode: "read" | "write" = "write") {
  const folder = new TempFolder().write({
    "root/notes/today.md": "# Today\nwater the fern\n",
    "root/notes/old.md": "Fern and moss\n",
    "root/tools/code.ts": "export {};\n",
    "outside/secret.txt": "canary\n",
    "state/token": "canary\n",
  });
  onTestFinished(() => folder[Symbol.dispose]());
  const root = folder.join("root");
  const store = openFiles(root, {
    protectedPaths: [folder.join("state")],
    readOnly: () => [join(root, "tools")],
  });
  const connector = createFilesConnector({ id: "f", namespace: "files", mode, store });
  const images: Image[] = [];
  const call = (name: string, input: JsonObject = {}) =>
    connector.call(name, input, contextOf(images)) as Promise<Record<string, never>>;
  return { folder, root, connector, call, images };
}

function contextOf(images: Image[] = []): CallContext {
  return {
    signal: new AbortController().signal,
    resolve: async () => ({ ok: true, auth: { kind: "none" } }),
    image: (image) => {
      images.push(image);
      return { image: images.length, mediaType: image.mediaType, bytes: image.bytes.length };
    },
    progress: () => {},
    display: () => {},
  };
}

test("[M60] files are listed, read in parts, searched, written, edited, moved and removed", async () => {
  const { call, root } = rig();
  expect(await call("list", { path: "notes" })).toEqual({
    entries: [
      { name: "old.md", kind: "file" },
      { name: "today.md", kind: "file" },
    ],
    more: false,
  });
  expect(await call("list", { limit: 1 })).toMatchObject({ more: true });
  const first = await call("read", { path: "notes/today.md", limit: 8 });
  expect(first).toMatchObject({ text: "# Today\n", size: 23, next: 8 });
  expect(await call("read", { path: "notes/today.md", offset: 8 })).toMatchObject({
    text: "water the fern\n",
  });
  expect(await call("search", { text: "FERN" })).toEqual({
    found: [
      { path: "notes/old.md", line: 1, text: "Fern and moss" },
      { path: "notes/today.md", line: 2, text: "water the fern" },
    ],
    isWhole: true,
  });
  expect(await call("write", { path: "new/deep/a.txt", text: "grün" })).toMatchObject({
    isNew: true,
    size: 5,
  });
  await expect(
    call("write", { path: "new/deep/a.txt", text: "", create: true }),
  ).rejects.toMatchObject({
    code: "conflict",
  });
  expect(await call("edit", { path: "new/deep/a.txt", old: "grün", new: "rot" })).toMatchObject({
    replaced: 1,
  });
  await expect(
    call("edit", { path: "new/deep/a.txt", old: "blau", new: "" }),
  ).rejects.toMatchObject({
    code: "invalid_input",
  });
  await call("move", { from: "new/deep/a.txt", to: "kept/b.txt" });
  expect(readFileSync(join(root, "kept/b.txt"), "utf8")).toBe("rot");
  await expect(call("move", { from: "kept/b.txt", to: "notes/old.md" })).rejects.toMatchObject({
    code: "conflict",
  });
  await expect(call("remove", { path: "new" })).rejects.toMatchObject({ code: "conflict" });
  await call("remove", { path: "new/deep" });
  await call("remove", { path: "kept/b.txt" });
  await expect(call("read", { path: "kept/b.txt" })).rejects.toMatchObject({ code: "not_found" });
});

test("[M60] a text is read to its end in steps of any size; what ends within a character is no text", async () => {
  const { call, root } = rig();
  const text = "ab🌱é日\n🌱";
  writeFileSync(join(root, "plants.txt"), text);
  for (const limit of [1, 2, 3, 5]) {
    let said = "";
    let offset: number | undefined = 0;
    while (offset !== undefined) {
      const part: { text?: string; next?: number } = await call("read", {
        path: "plants.txt",
        offset,
        limit,
      });
      said += part.text;
      offset = part.next;
    }
    expect(said).toBe(text);
  }
  writeFileSync(join(root, "cut.txt"), Buffer.from(text).subarray(0, -1));
  await expect(call("read", { path: "cut.txt" })).rejects.toMatchObject({ code: "invalid_input" });
});

test("[M60] an image that is too large to be looked at is not read", async () => {
  const { call, root, images } = rig();
  const file = join(root, "huge.png");
  writeFileSync(file, Buffer.from("\u0089PNG\r\n", "latin1"));
  // Sparse: more than memory holds.
  truncateSync(file, 2 ** 36);
  await expect(call("read", { path: "huge.png" })).rejects.toMatchObject({ code: "too_large" });
  expect(images).toEqual([]);
});

test("[M60] a version that is given must still be the file's: a change in between is kept", async () => {
  const { call, root } = rig();
  const { version } = await call("stat", { path: "notes/old.md" });
  writeFileSync(join(root, "notes/old.md"), "changed by hand\n");
  await expect(
    call("write", { path: "notes/old.md", text: "mine", version: version ?? "" }),
  ).rejects.toMatchObject({
    code: "conflict",
  });
  expect(readFileSync(join(root, "notes/old.md"), "utf8")).toBe("changed by hand\n");
});

test("[M65] changes that are made at once take turns: none is lost that is said to be made, and one name has one file", async () => {
  const { call, root } = rig();
  const all = Array.from({ length: 24 }, (_, at) => `mark ${at};`);
  for (let round = 0; round < 4; round++) {
    await call("write", { path: "many.txt", text: all.join("\n") });
    const edits = await Promise.allSettled(
      all.map((mark) => call("edit", { path: "many.txt", old: mark, new: `done ${mark}` })),
    );
    const text = readFileSync(join(root, "many.txt"), "utf8");
    for (const [at, edit] of edits.entries()) {
      expect(text.includes(`done mark ${at};`), `mark ${at}`).toBe(edit.status === "fulfilled");
      if (edit.status === "rejected") expect(edit.reason).toMatchObject({ code: "conflict" });
    }
  }
  for (const mark of all) await call("write", { path: `${mark}.txt`, text: mark });
  const moves = await Promise.allSettled(
    all.map((mark) => call("move", { from: `${mark}.txt`, to: "one.txt" })),
  );
  expect(moves.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  const left = await Promise.allSettled(all.map((mark) => call("read", { path: `${mark}.txt` })));
  expect(left.filter(({ status }) => status === "fulfilled")).toHaveLength(all.length - 1);
});

test("[M60] an image is looked at, bytes are read as base64, and what is no text says so", async () => {
  const { call, root, images } = rig();
  const png = Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  );
  writeFileSync(join(root, "pixel.png"), png);
  writeFileSync(join(root, "bytes"), Buffer.from([1, 0, 2]));
  expect(await call("read", { path: "pixel.png" })).toMatchObject({
    image: { mediaType: "image/png" },
  });
  expect(Buffer.from(images[0]!.bytes)).toEqual(png);
  expect(await call("read", { path: "bytes", encoding: "base64" })).toMatchObject({
    base64: "AQAC",
  });
  await expect(call("read", { path: "bytes" })).rejects.toMatchObject({ code: "invalid_input" });
});

test("[M61] files of mode read lend nothing that changes them", async () => {
  const { connector, call } = rig("read");
  const operations = await connector.operations(new AbortController().signal);
  expect(operations.map(({ name }) => name)).toEqual(["list", "stat", "read", "search"]);
  expect(operations.every(({ label }) => label === "read")).toBe(true);
  await expect(call("write", { path: "a", text: "" })).rejects.toMatchObject({
    code: "unknown_operation",
    message: expect.stringContaining("may only be read"),
  });
});

test("[M62] no path leads out of the folder: not by .., not absolute, not through links of any kind", async () => {
  const { call, folder, root } = rig();
  symlinkSync(folder.join("outside"), join(root, "way"));
  symlinkSync(folder.join("outside/secret.txt"), join(root, "file"));
  symlinkSync(join(root, "notes"), join(root, "inside"));
  linkSync(folder.join("state/token"), join(root, "hard"));
  const inputs = [
    "../outside/secret.txt",
    "/etc/passwd",
    "notes/../../outside/secret.txt",
    "way/secret.txt",
    "file",
    "hard",
    "C:\\x",
    "a\0b",
  ];
  for (const path of inputs) {
    const refused = call("read", { path });
    await expect(refused, path).rejects.toMatchObject({ name: "OperationError" });
    await refused.catch((error: Error) => {
      expect(error.message).not.toContain(folder.path);
      expect(error.message).not.toContain("canary");
    });
  }
  for (const path of ["way/new.txt", "../new.txt", "way/deep/new.txt", "hard"])
    await expect(call("write", { path, text: "x" }), path).rejects.toMatchObject({
      name: "OperationError",
    });
  await expect(call("list", { path: "way" })).rejects.toMatchObject({ code: "denied" });
  await expect(call("move", { from: "notes/old.md", to: "way/old.md" })).rejects.toMatchObject({
    code: "denied",
  });
  // A link that stays inside is a name like any other.
  expect(await call("read", { path: "inside/old.md" })).toMatchObject({ text: "Fern and moss\n" });
  // What replaces a link replaces the link, never what it leads to.
  await call("write", { path: "file", text: "mine" });
  expect(readFileSync(folder.join("outside/secret.txt"), "utf8")).toBe("canary\n");
  expect(readFileSync(folder.join("state/token"), "utf8")).toBe("canary\n");
});

test("[M62] whatever a path is made of, it is read inside the folder or refused", async () => {
  const { call, folder } = rig();
  const part = fc.constantFrom(
    "..",
    ".",
    "",
    "notes",
    "today.md",
    "%2e%2e",
    "‥",
    "outside",
    "...",
    "~",
    "$HOME",
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(part, { maxLength: 6 }),
      fc.constantFrom("/", "\\", "//"),
      async (parts, by) => {
        try {
          expect(JSON.stringify(await call("read", { path: parts.join(by) }))).not.toContain(
            "canary",
          );
        } catch (error) {
          expect(error).toMatchObject({ name: "OperationError" });
          expect(String(error)).not.toContain(folder.path);
        }
      },
    ),
    { numRuns: 100 },
  );
});

test("[M63] what a host runs or keeps there is not changed, moved or taken away", async () => {
  const { call, root } = rig();
  await expect(call("write", { path: "tools/code.ts", text: "" })).rejects.toMatchObject({
    code: "denied",
  });
  await expect(call("write", { path: "tools/new.ts", text: "" })).rejects.toMatchObject({
    code: "denied",
  });
  await expect(call("remove", { path: "tools/code.ts" })).rejects.toMatchObject({ code: "denied" });
  await expect(call("move", { from: "tools", to: "other" })).rejects.toMatchObject({
    code: "denied",
  });
  await expect(call("move", { from: "notes", to: "tools/notes" })).rejects.toMatchObject({
    code: "denied",
  });
  mkdirSync(join(root, "around"));
  expect(await call("read", { path: "tools/code.ts" })).toMatchObject({ text: "export {};\n" });
});

test("[M64] skills are listed with what they are for, and read by name with what belongs to them; nothing else is", async () => {
  using folder = new TempFolder().write({
    "skills/water-plants/SKILL.md":
      "---\nname: water-plants\ndescription: Waters plants.\n---\nPour slowly.\n",
    "skills/water-plants/table.csv": "fern,daily\n",
    "skills/broken/SKILL.md": "no frontmatter\n",
    "other/secret.txt": "canary\n",
  });
  const store = openFiles(folder.join("skills"), { protectedPaths: [], readOnly: () => [] });
  const connector: Connector = createSkillsConnector({
    ...{ id: "s", namespace: "skills", store },
    readHead: async (source, name) => (await parseSkill(source, name)).skill,
  });
  const call = (name: string, input: JsonObject = {}) => connector.call(name, input, contextOf());
  expect(await call("list")).toEqual({
    skills: [{ name: "water-plants", description: "Waters plants." }],
  });
  expect(await call("read", { name: "water-plants" })).toMatchObject({
    text: expect.stringContaining("Pour slowly."),
    files: ["table.csv"],
  });
  expect(await call("read", { name: "water-plants", file: "table.csv" })).toMatchObject({
    text: "fern,daily\n",
  });
  await expect(call("read", { name: "water-plant" })).rejects.toMatchObject({
    code: "not_found",
    message: expect.stringContaining('Did you mean "water-plants"?'),
  });
  for (const input of [
    { name: "../other" },
    { name: "water-plants", file: "../../other/secret.txt" },
  ])
    await expect(call("read", input)).rejects.toMatchObject({ name: "OperationError" });
});
