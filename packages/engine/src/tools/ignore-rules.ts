// Which files a search leaves out: the rules of one `.gitignore`, read as git reads them.

import { globSource } from "./glob.ts";

export interface IgnoreRules {
  /** The folder whose file this was: absolute, without a slash at the end. */
  readonly folder: string;
  readonly rules: readonly IgnoreRule[];
}

interface IgnoreRule {
  readonly expression: RegExp;
  readonly keeps: boolean;
  readonly foldersOnly: boolean;
}

export function parseIgnoreRules(folder: string, text: string): IgnoreRules {
  return { folder: folder === "/" ? "" : folder, rules: text.split(/\r?\n/).flatMap(parseRule) };
}

/** The last rule that matches decides; deeper files come later in `stack` and win. */
export function isIgnored(stack: readonly IgnoreRules[], path: string, isFolder: boolean): boolean {
  let ignored = false;
  for (const { folder, rules } of stack) {
    const relative = path.slice(folder.length + 1);
    for (const rule of rules)
      if ((isFolder || !rule.foldersOnly) && rule.expression.test(relative)) ignored = !rule.keeps;
  }
  return ignored;
}

function parseRule(line: string): IgnoreRule[] {
  let pattern = line.replace(/(?<!\\)\s+$/, "");
  if (pattern === "" || pattern.startsWith("#")) return [];
  const keeps = pattern.startsWith("!");
  if (keeps) pattern = pattern.slice(1);
  const foldersOnly = pattern.endsWith("/");
  if (foldersOnly) pattern = pattern.slice(0, -1);
  const source = globSource(pattern.replace(/^\//, ""));
  const prefix = pattern.includes("/") ? "" : "(?:.*/)?";
  try {
    return [{ expression: new RegExp(`^${prefix}${source}$`, "u"), keeps, foldersOnly }];
  } catch {
    return [];
  }
}
