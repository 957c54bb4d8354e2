// Plain-text answers of the embedding kit.

export const textHeaders = { "content-type": "text/plain" } as const;

/** A text answer; it ends with a newline. */
export function text(body: string, status: number): Response {
  return new Response(body.endsWith("\n") ? body : `${body}\n`, { status, headers: textHeaders });
}
