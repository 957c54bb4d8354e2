// Bytes as base64 and back, with what every platform has.

export function toBase64(bytes: Uint8Array): string {
  const slice = 32_768;
  let binary = "";
  for (let start = 0; start < bytes.length; start += slice)
    binary += String.fromCharCode(...bytes.subarray(start, start + slice));
  return btoa(binary);
}

export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (unit) => unit.charCodeAt(0));
}
