// What a search asks and answers, and how an answer is kept within bounds.

export type SearchRequest =
  | {
      readonly type: "grep";
      readonly path: string;
      readonly pattern: string;
      readonly literal: boolean;
      readonly ignoreCase: boolean;
      readonly contextLines: number;
      readonly glob?: string;
      readonly limit: number;
    }
  | { readonly type: "find"; readonly path: string; readonly glob: string; readonly limit: number };

export interface SearchAnswer {
  readonly lines: string[];
  /** Matches shown (a line of context is none). */
  readonly found: number;
  readonly hasMore: boolean;
}

export const maxAnswerBytes = 50 * 1_024;
const maxLineLength = 500;

/** The expression that a grep means. Throws with the reason where it is none. */
export function grepExpression(request: {
  readonly pattern: string;
  readonly literal: boolean;
  readonly ignoreCase: boolean;
}): RegExp {
  const source = request.literal
    ? request.pattern.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")
    : request.pattern;
  // Characters that `u` wants unescaped are often escaped; such a pattern still means what it says.
  const flags = request.ignoreCase ? "i" : "";
  try {
    return new RegExp(source, `${flags}${request.literal ? "" : "u"}`);
  } catch {
    return new RegExp(source, flags);
  }
}

export function shownLine(line: string): string {
  const clean = line.replace(/\r$/, "");
  return clean.length > maxLineLength ? `${clean.slice(0, maxLineLength)}…` : clean;
}
