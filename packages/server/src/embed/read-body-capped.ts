// Reads a body of at most so many bytes, counted as they come: a Content-Length is only a claim.

export async function readBodyCapped(
  request: Request,
  max: number,
): Promise<{ text: string } | { tooLarge: true }> {
  if (!request.body) return { text: "" };
  const reader = request.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text: text + decoder.decode() };
    bytes += value.byteLength;
    if (bytes > max) {
      await reader.cancel();
      return { tooLarge: true };
    }
    text += decoder.decode(value, { stream: true });
  }
}
