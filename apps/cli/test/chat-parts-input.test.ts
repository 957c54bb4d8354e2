import { execFileSync } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StdinBuffer } from "@earendil-works/pi-tui";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Attachments, pastedData } from "../src/chat/attachments.ts";
import { commandsOf } from "../src/chat/commands.ts";
import { completions } from "../src/chat/completions.ts";
import { gather, refusedPaste } from "../src/chat/pasting.ts";

const png = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
const start = "\u001b[200~";
const end = "\u001b[201~";
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lichen-chat-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("[U12] a pipe, a device and a file without an end are refused at once when they are attached", async () => {
  const attachments = new Attachments();
  const pipe = join(folder, "pipe.png");
  execFileSync("mkfifo", [pipe]);
  await symlink("/dev/zero", join(folder, "zero.png"));
  await writeFile(join(folder, "large.png"), Buffer.concat([png, Buffer.alloc(20 * 1_048_576)]));
  await expect(attachments.addFile(pipe)).rejects.toThrow("no regular file");
  await expect(attachments.addFile(join(folder, "zero.png"))).rejects.toThrow("no regular file");
  await expect(attachments.addFile(join(folder, "large.png"))).rejects.toThrow("11 MiB");
  expect(attachments.all).toEqual([]);
});

test("[U12] whether a long paste is an image is told in the time that it takes to read it", () => {
  const before = performance.now();
  expect(pastedData(`data:image/png;base64,${" ".repeat(2_000_000)}!`)).toBeUndefined();
  expect(pastedData(`${" ".repeat(2_000_000)}data:image/png;base64,!`)).toBeUndefined();
  const wrapped = png.toString("base64").replace(/.{6}/g, "$&\r\n");
  expect(pastedData(` data:image/png;base64,${wrapped}\n`)).toEqual(png);
  expect(performance.now() - before).toBeLessThan(2_000);
});

test.for([1, 2, 3, 5, 7, 100, 4_096])(
  "[U12] keys and pastes come out as they went in, in pieces of %d",
  (size) => {
    const given: string[] = [];
    const buffer = new StdinBuffer();
    buffer.on("data", (key) => given.push(key));
    buffer.on("paste", (text) => given.push(`<${text}>`));
    gather(buffer);
    const long = "lorem ipsum\r".repeat(50);
    const input = `a${start}one${end}b${start}${end}${start}${long}${end}c\u001b[A${start}${end.slice(0, 4)}x${end}d`;
    for (let at = 0; at < input.length; at += size) buffer.process(input.slice(at, at + size));
    expect(given).toEqual([
      "a",
      "<one>",
      "b",
      "<>",
      `<${long}>`,
      "c",
      "\u001b[A",
      `<${end.slice(0, 4)}x>`,
      "d",
    ]);
    buffer.destroy();
  },
);

test("[U12] a paste costs no more than its length, and one that no message can hold is refused with what to do", () => {
  const pasted: string[] = [];
  const buffer = new StdinBuffer();
  buffer.on("paste", (text) => pasted.push(text));
  gather(buffer);
  const before = performance.now();
  buffer.process(start);
  for (let piece = 0; piece < 20_000; piece++) buffer.process("x".repeat(1_000));
  buffer.process(end);
  expect(performance.now() - before).toBeLessThan(10_000);
  expect(pasted[0]!.length).toBe(16 * 1_048_576);
  expect(refusedPaste(pasted[0]!)).toMatch(/more than 1 MiB.*file/s);
  expect(refusedPaste("€".repeat(400_000))).toBeDefined();
  expect(refusedPaste("x".repeat(1_048_576))).toBeUndefined();
  const image = Buffer.concat([png, Buffer.alloc(2 * 1_048_576)]).toString("base64");
  expect(refusedPaste(`data:image/png;base64,${image}`)).toBeUndefined();
  buffer.process(`${start}after it${end}`);
  expect(pasted[1]).toBe("after it");
  buffer.destroy();
});

const signal = new AbortController().signal;

test("[U9] names that hide something are not completed", async () => {
  await writeFile(join(folder, "ev\u001b]0;PWNED\u0007il.png"), png);
  await writeFile(join(folder, "ev\u202egnp.png"), png);
  await writeFile(join(folder, "even.png"), png);
  const line = "/attach ev";
  const found = await completions(folder, commandsOf({ only: undefined })).getSuggestions(
    [line],
    0,
    line.length,
    {
      signal,
      force: true,
    },
  );
  expect(found?.items.map(({ value }) => value)).toEqual(["even.png"]);
});

test("[U11] a value is completed by what is typed of it by now, however late its list came, and a whole one not at all", async () => {
  const provider = completions(folder, commandsOf({ only: undefined }));
  const begun = "/theme lig";
  const found = await provider.getSuggestions([begun], 0, begun.length, { signal });
  const item = found?.items[0];
  expect(item?.value).toBe("light");
  const complete = (line: string) =>
    provider.applyCompletion([line], 0, line.length, item!, found!.prefix).lines[0];
  expect(complete("/theme ligh")).toBe("/theme light");
  expect(complete("/theme light")).toBe("/theme light");
  expect(complete("/theme dark")).toBe("/theme dark");
  const whole = "/theme light";
  expect(await provider.getSuggestions([whole], 0, whole.length, { signal })).toBeNull();
});
