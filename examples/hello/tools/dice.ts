import { randomInt } from "node:crypto";
import { defineTool, z } from "lichen";

export default defineTool({
  description: "Roll dice. Use it whenever somebody asks for a roll or a random number.",
  input: z.object({
    count: z.int().min(1).max(100).default(1).describe("How many dice"),
    sides: z.int().min(2).max(1_000).default(6).describe("Sides of each die"),
  }),
  // Rolling changes nothing, so a roll that a crash cut short may simply be rolled again.
  label: "read",
  execute({ count, sides }) {
    const rolls = Array.from({ length: count }, () => randomInt(1, sides + 1));
    const total = rolls.reduce((sum, roll) => sum + roll, 0);
    if (count === 1) return `🎲 ${total} (of ${sides})`;
    return `🎲 ${rolls.join(" + ")} = ${total}`;
  },
});
