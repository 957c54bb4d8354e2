// Text from a model or a tool on its way to a person's screen: nothing in it can move the cursor or forge a prompt.

/** The text without control characters, except for line ends and tabs. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are exactly what is taken out
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "");
}

/** One line of at most `length` characters. */
export function oneLine(text: string, length: number): string {
  const line = printable(text.replaceAll(/\s+/g, " ")).trim();
  return line.length <= length
    ? line
    : `${line.slice(0, length - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
