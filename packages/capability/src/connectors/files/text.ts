// Bytes as what code and models can read: text, an image, or base64.

/** In bytes of UTF-8. */
export const longestCharacter = 4;

/** Undefined where it is no UTF-8 text. */
export function textOf(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** How many bytes at the beginning hold whole characters: a part of a file may end inside of one. */
export function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte < 0x80 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return back < length ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** The kind that the first bytes are of, of those that models take. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  const begins = (at: number, text: string) =>
    Array.from(text).every((char, index) => bytes[at + index] === char.charCodeAt(0));
  if (bytes[0] === 0x89 && begins(1, "PNG\r\n")) return "image/png";
  if (bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff) return "image/jpeg";
  if (begins(0, "GIF87a") || begins(0, "GIF89a")) return "image/gif";
  if (begins(0, "RIFF") && begins(8, "WEBP")) return "image/webp";
  return undefined;
}
