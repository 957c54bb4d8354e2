import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { valueOf } from "../../../src/connectors/mcp/result.ts";
import type { Image } from "../../../src/index.ts";

function read(result: unknown) {
  const images: Image[] = [];
  const image = (shown: Image) => {
    images.push(shown);
    return { image: images.length - 1, mediaType: shown.mediaType, bytes: shown.bytes.length };
  };
  return { value: valueOf(result, { image }), images };
}

const text = (content: string) => ({ type: "text", text: content });

describe("the value of a call", () => {
  it("[M9] is the structured content, whatever its texts say", () => {
    for (const structuredContent of [{ sum: 5 }, [1], null, 0, false, ""])
      expect(read({ content: [text("five")], structuredContent }).value).toEqual(structuredContent);
  });

  it("[M9] is its text, several joined by lines, and nothing where there is none", () => {
    expect(read({ content: [text("one")] }).value).toBe("one");
    expect(read({ content: [text("one"), text("two")] }).value).toBe("one\ntwo");
    expect(read({ content: [] }).value).toBeUndefined();
  });

  it("[M9] is the object or list that a single text is, and a text where it is anything else", () => {
    fc.assert(
      fc.property(fc.oneof(fc.object(), fc.array(fc.jsonValue())), (value) => {
        const json = JSON.stringify(value);
        expect(read({ content: [text(json)] }).value).toEqual(JSON.parse(json));
      }),
    );
    for (const other of ["42", "true", "null", '"word"', "{ no json", "[1] and more", ""])
      expect(read({ content: [text(other)] }).value).toBe(other);
  });

  it("[M13] is at most 64 levels deep; a text that is JSON of more stays a text", () => {
    const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
    const deep: unknown = JSON.parse(nested(64));
    expect(read({ content: [], structuredContent: deep }).value).toEqual(deep);
    expect(() => read({ content: [], structuredContent: [deep] })).toThrow(
      /The tool ran, .*nested deeper than 64 levels.*check what it did/,
    );
    expect(read({ content: [text(nested(64))] }).value).toEqual(deep);
    expect(read({ content: [text(nested(1_000_000))] }).value).toBe(nested(1_000_000));
  });

  it("[M9] has notes for images, which are handed out, also beside structured content", () => {
    const image = { type: "image", mimeType: "image/PNG", data: btoa("pixels") };
    expect(read({ content: [text("look"), image] })).toEqual({
      value: ["look", { image: 0, mediaType: "image/png", bytes: 6 }],
      images: [{ mediaType: "image/png", bytes: Uint8Array.from(Buffer.from("pixels")) }],
    });
    expect(read({ content: [image], structuredContent: {} }).images).toHaveLength(1);
    const blob = { uri: "file:///a.gif", mimeType: "image/gif", blob: btoa("gif") };
    expect(read({ content: [{ type: "resource", resource: blob }] }).value).toEqual({
      uri: "file:///a.gif",
      image: 0,
      mediaType: "image/gif",
      bytes: 3,
    });
  });

  it("[M9] keeps audio, links, resources and what it does not know as what they are", () => {
    const audio = { type: "audio", mimeType: "audio/wav", data: "AAAA" };
    const link = {
      type: "resource_link",
      uri: "demo://1",
      name: "one",
      annotations: { priority: 1 },
    };
    const resource = {
      type: "resource",
      resource: { uri: "demo://2", mimeType: "text/plain", text: "t" },
    };
    const later = { type: "hologram", depth: 3 };
    const drawing = { type: "image", mimeType: "image/svg+xml", data: "PHN2Zz4=" };
    expect(read({ content: [audio, link, resource, later, drawing] }).value).toEqual([
      audio,
      { type: "resource_link", uri: "demo://1", name: "one" },
      { type: "resource", uri: "demo://2", mimeType: "text/plain", text: "t" },
      later,
      drawing,
    ]);
  });

  it("[M10] is an error where the tool says so, with its words, cleaned and bounded", () => {
    const fail = (content: unknown) => () => read({ isError: true, content });
    expect(fail([text("no\u001b[2J file"), text("there")])).toThrow("no [2J file\nthere");
    expect(fail([text("x".repeat(100_000))])).toThrow(/x{2000} … \(100000 characters in all\)/);
    expect(fail([])).toThrow("did not say why");
    expect(fail("odd")).toThrow("did not say why");
  });

  it("[M10] is an error where it is no result, or an image is none", () => {
    for (const odd of [null, 7, "text", []]) expect(() => read(odd)).toThrow("no result");
    const image = { type: "image", mimeType: "image/png", data: "%%%" };
    expect(() => read({ content: [image] })).toThrow("not base64");
  });
});
