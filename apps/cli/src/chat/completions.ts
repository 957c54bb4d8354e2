// What tab and the list below the editor complete: commands, their values and paths, none of which steers the terminal.

import {
  type AutocompleteProvider,
  CombinedAutocompleteProvider,
  type Editor,
  matchesKey,
} from "@earendil-works/pi-tui";
import type { SlashCommand } from "./commands.ts";

/** Characters that a path may have and that nobody sees: what is inserted would not be what is shown. */
const hidden = /[\p{Cc}\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u;

/** Completes for an editor. Paths are read from `cwd` on. */
export function completions(cwd: string, commands: readonly SlashCommand[]): AutocompleteProvider {
  const inner = new CombinedAutocompleteProvider(commands.map(completed), cwd);
  /** What stood before the cursor when the list was made. */
  let madeFor: string | undefined;
  return {
    async getSuggestions(lines, row, column, options) {
      const found = await inner.getSuggestions(lines, row, column, options);
      madeFor = before(lines, row, column);
      const items = found?.items.filter(({ value, label }) => !hidden.test(value + label)) ?? [];
      return found === null || items.length === 0 ? null : { ...found, items };
    },
    applyCompletion(lines, cursorLine, cursorCol, item, prefix) {
      const now = before(lines, cursorLine, cursorCol);
      if (now === madeFor) return inner.applyCompletion(lines, cursorLine, cursorCol, item, prefix);
      // Keys came faster than the list: only a value that they have begun is meant.
      const argument = valueIn(now, commands)?.argument;
      return argument !== undefined && item.value.startsWith(argument)
        ? inner.applyCompletion(lines, cursorLine, cursorCol, item, argument)
        : { lines, cursorLine, cursorCol };
    },
    shouldTriggerFileCompletion: (lines, row, column) =>
      inner.shouldTriggerFileCompletion(lines, row, column),
  };
}

/** Enter on a list of a command's values takes the value and sends the command, as it does on the list of commands. */
export function finishValue(editor: Editor, data: string, commands: readonly SlashCommand[]): void {
  if (!editor.isShowingAutocomplete() || !matchesKey(data, "enter")) return;
  if (valueIn(editor.getText(), commands) !== undefined) editor.handleInput("\t");
}

function before(lines: readonly string[], row: number, column: number): string {
  return (lines[row] ?? "").slice(0, column);
}

/** The value that is being typed behind a command with a closed set of them. */
function valueIn(
  text: string,
  commands: readonly SlashCommand[],
): { argument: string } | undefined {
  const [, name, argument] = /^\s*\/([a-z]+) (\S*)$/.exec(text) ?? [];
  if (argument === undefined) return undefined;
  return commands.some((it) => it.name === name && it.values) ? { argument } : undefined;
}

function completed({ name, says, argument, values }: SlashCommand) {
  return {
    name,
    description: says,
    ...(argument === undefined ? {} : { argumentHint: argument }),
    ...(values === undefined
      ? {}
      : {
          getArgumentCompletions: (prefix: string) =>
            values.includes(prefix)
              ? null
              : values
                  .filter((value) => value.startsWith(prefix))
                  .map((value) => ({ value, label: value })),
        }),
  };
}
