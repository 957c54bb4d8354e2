import { expect, test } from "vitest";
import { Choices } from "../src/chat/panel/choices.ts";
import { themeOf } from "../src/chat/show/theme.ts";

const down = "\u001b[B";

function choicesOf(count: number, shown: number): { choices: Choices; chosen: number[] } {
  const chosen: number[] = [];
  const choices = new Choices({
    theme: themeOf("dark", "none"),
    head: () => [],
    choices: () =>
      Array.from({ length: count }, (_, at) => ({
        label: `way ${at + 1}`,
        choose: () => chosen.push(at + 1),
      })),
    shown: () => shown,
    hints: "enter answers",
    cancel: () => undefined,
    other: () => undefined,
  });
  choices.focused = true;
  return { choices, chosen };
}

test("[U28] of more choices than fit the highlighted one is on the screen, and the others are counted", () => {
  const { choices, chosen } = choicesOf(14, 4);
  for (let at = 1; at <= 14; at++) {
    const lines = choices.render(40);
    expect(lines).toHaveLength(5);
    expect(lines.filter((line) => line.startsWith("→"))).toEqual([`→ ${at} way ${at}`]);
    expect(lines.at(-1)).toBe("10 more choices · enter answers");
    choices.handleInput("\r");
    choices.handleInput(down);
  }
  expect(chosen).toEqual(Array.from({ length: 14 }, (_, at) => at + 1));
  expect(choices.render(40)[0]).toBe("→ 1 way 1");
});

test("[U28] a number chooses what is on the screen, and only shows what is not", () => {
  const { choices, chosen } = choicesOf(14, 4);
  choices.render(40);
  choices.handleInput("9");
  expect(chosen).toEqual([]);
  expect(choices.render(40)).toContain("→ 9 way 9");
  choices.handleInput("9");
  choices.handleInput("8");
  expect(chosen).toEqual([9, 8]);
});

test("[U28] choices that all fit are all shown, and none is counted", () => {
  const { choices } = choicesOf(3, 9);
  expect(choices.render(40)).toEqual(["→ 1 way 1", "  2 way 2", "  3 way 3", "enter answers"]);
});
