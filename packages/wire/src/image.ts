// Images: the four kinds that models take, told by their first bytes. What a sender says of a kind is not believed.

import * as z from "zod";

export const ImageType = z.enum(["image/png", "image/jpeg", "image/gif", "image/webp"]);
export type ImageType = z.infer<typeof ImageType>;

/** Every kind is known by this many bytes. */
const headBytes = 12;

/** The kind of an image, by the bytes that it begins with; undefined for what is no image that models take. */
export function imageTypeOf(bytes: Uint8Array): ImageType | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, headBytes));
  if (head.startsWith("\u0089PNG\r\n\u001a\n")) return "image/png";
  if (head.startsWith("\u00ff\u00d8\u00ff")) return "image/jpeg";
  if (head.startsWith("GIF87a") || head.startsWith("GIF89a")) return "image/gif";
  if (head.startsWith("RIFF") && head.slice(8) === "WEBP") return "image/webp";
  return undefined;
}

/** The same of an image in base64; undefined also where its beginning is none. */
export function imageTypeOfBase64(data: string): ImageType | undefined {
  const head = data.slice(0, (headBytes / 3) * 4);
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(head))
    return undefined;
  return imageTypeOf(Uint8Array.from(atob(head), (character) => character.charCodeAt(0)));
}
