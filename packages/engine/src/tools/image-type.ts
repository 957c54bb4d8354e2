// Tells images that models can see from other bytes, by how they begin and never by their name.

/** The MIME type of a PNG, JPEG, GIF or WebP; undefined for all else. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  const begins = (at: number, ...signature: number[]) =>
    signature.every((byte, index) => bytes[at + index] === byte);
  if (begins(0, 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return "image/png";
  if (begins(0, 0xff, 0xd8, 0xff)) return "image/jpeg";
  if (begins(0, 0x47, 0x49, 0x46, 0x38)) return "image/gif";
  if (begins(0, 0x52, 0x49, 0x46, 0x46) && begins(8, 0x57, 0x45, 0x42, 0x50)) return "image/webp";
  return undefined;
}
