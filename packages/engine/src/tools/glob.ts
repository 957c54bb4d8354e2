// Globs, as people write them for files: `*`, `?`, `[a-z]`, `{a,b}` within a name, `**` across folders.
//
// Paths are relative and use `/`. Names that begin with a dot match like any other.

/** Whether a relative path matches. A pattern without a slash is about the last name, at any depth. */
export function globMatcher(pattern: string): (path: string) => boolean {
  const anchored = pattern.includes("/");
  const expression = new RegExp(`^${globSource(pattern.replace(/^\.?\//, ""))}$`, "u");
  return (path) => expression.test(anchored ? path : path.slice(path.lastIndexOf("/") + 1));
}

/** The source of a regular expression that matches what the glob does, without anchors. */
export function globSource(pattern: string): string {
  let source = "";
  let braces = 0;
  for (let at = 0; at < pattern.length; at++) {
    const rest = pattern.slice(at);
    const character = rest.charAt(0);
    if (rest.startsWith("**/") && (at === 0 || pattern[at - 1] === "/")) {
      source += "(?:[^/]+/)*";
      at += 2;
    } else if (rest.startsWith("**")) {
      source += ".*";
      at += /^\*+/.exec(rest)![0].length - 1;
    } else if (character === "*") source += "[^/]*";
    else if (character === "?") source += "[^/]";
    else if (character === "{" && rest.includes("}")) {
      source += "(?:";
      braces++;
    } else if (character === "}" && braces > 0) {
      source += ")";
      braces--;
    } else if (character === "," && braces > 0) source += "|";
    else if (character === "[" && rest.indexOf("]", 2) > 0) {
      const end = rest.indexOf("]", 2);
      source += characterClass(rest.slice(1, end));
      at += end;
    } else if (character === "\\" && rest.length > 1) {
      source += escaped(rest.charAt(1));
      at++;
    } else source += escaped(character);
  }
  return source + ")".repeat(braces);
}

function characterClass(inside: string): string {
  const negated = /^[!^]/.test(inside);
  const members = (negated ? inside.slice(1) : inside).replace(/[\\\][^&|~(){}/]/g, "\\$&");
  return negated ? `[^/${members}]` : `[${members}]`;
}

function escaped(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
