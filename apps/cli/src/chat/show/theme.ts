// The looks of the screen: two palettes, in as many colours as the terminal has. Without colours (NO_COLOR) only bold,
// italic and underline are left, and marks carry what colours would say.

import {
  type EditorTheme,
  foregroundAnsi,
  type MarkdownTheme,
  parseColor,
  type SelectListTheme,
} from "@earendil-works/pi-tui";

export type Style = (text: string) => string;
export type ThemeName = "dark" | "light";
export type ColorDepth = "truecolor" | "256color" | "none";

type Colored =
  | "accent"
  | "dim"
  | "error"
  | "warn"
  | "ok"
  | "user"
  | "thinking"
  | "added"
  | "removed"
  | "border"
  | "tool";

export interface Theme extends Readonly<Record<Colored, Style>> {
  readonly name: ThemeName;
  readonly bold: Style;
  readonly italic: Style;
  readonly markdown: MarkdownTheme;
  readonly editor: EditorTheme;
  readonly select: SelectListTheme;
}

const palettes: Readonly<Record<ThemeName, Readonly<Record<Colored | "code", string>>>> = {
  dark: {
    accent: "#7aa2f7",
    dim: "#8a8f98",
    error: "#f7768e",
    warn: "#e0af68",
    ok: "#9ece6a",
    user: "#7dcfff",
    thinking: "#9a8fb8",
    added: "#9ece6a",
    removed: "#f7768e",
    border: "#565f89",
    tool: "#bb9af7",
    code: "#c0a36e",
  },
  light: {
    accent: "#1d4ed8",
    dim: "#6b7280",
    error: "#b91c1c",
    warn: "#92610a",
    ok: "#2f6f1f",
    user: "#0e6a8a",
    thinking: "#6d5a96",
    added: "#2f6f1f",
    removed: "#b91c1c",
    border: "#a3aab8",
    tool: "#7c3aed",
    code: "#7a4f12",
  },
};

export function themeOf(name: ThemeName, color: ColorDepth): Theme {
  const palette = palettes[name];
  const style = (value: string): Style => {
    if (color === "none") return plain;
    const open = foregroundAnsi(parseColor(value), color);
    return (text) => (text === "" ? "" : `${open}${text}\u001b[39m`);
  };
  const accent = style(palette.accent);
  const dim = style(palette.dim);
  const border = style(palette.border);
  const added = style(palette.added);
  const removed = style(palette.removed);
  const code = style(palette.code);
  const select: SelectListTheme = {
    selectedPrefix: accent,
    selectedText: (text) => bold(accent(text)),
    description: dim,
    scrollInfo: dim,
    noMatch: dim,
  };
  const signs: Readonly<Record<string, Style>> = { "+": added, "-": removed, "@": accent };
  return {
    name,
    accent,
    dim,
    error: style(palette.error),
    warn: style(palette.warn),
    ok: style(palette.ok),
    user: style(palette.user),
    thinking: style(palette.thinking),
    added,
    removed,
    border,
    tool: style(palette.tool),
    bold,
    italic,
    select,
    editor: { borderColor: border, selectList: select },
    markdown: {
      heading: accent,
      link: accent,
      linkUrl: dim,
      code,
      codeBlock: code,
      codeBlockBorder: border,
      quote: dim,
      quoteBorder: border,
      hr: border,
      listBullet: accent,
      bold,
      italic,
      underline: attribute(4, 24),
      strikethrough: attribute(9, 29),
      highlightCode: (text, language) =>
        text
          .split("\n")
          .map((line) => ((language === "diff" && signs[line.charAt(0)]) || code)(line)),
    },
  };
}

const plain: Style = (text) => text;
const bold = attribute(1, 22);
const italic = attribute(3, 23);

function attribute(on: number, off: number): Style {
  return (text) => (text === "" ? "" : `\u001b[${on}m${text}\u001b[${off}m`);
}
