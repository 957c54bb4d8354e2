// The bounds of a program in the sandbox. Sizes are bytes of UTF-8 unless a name says otherwise.

export const limits = {
  heapBytes: 64 * 1_024 * 1_024,
  codeBytes: 256 * 1_024,
  depth: 64,
  resultBytes: 256 * 1_024,
  inputBytes: 1_024 * 1_024,
  outcomeBytes: 4 * 1_024 * 1_024,
  printedBytes: 256 * 1_024,
  messageLength: 8_192,
  /** Calls of one program that may be open at once. */
  openCalls: 1_000,
  deadlineMs: 180_000,
  longestDeadlineMs: 900_000,
  /** How long what was told to stop may take to do so. */
  graceMs: 5_000,
  snapshotBytes: 8 * 1_024 * 1_024,
  concurrent: 8,
  queued: 256,
} as const;

export type Limits = { readonly [name in keyof typeof limits]: number };
