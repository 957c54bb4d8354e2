import { defineTool, z } from "lichen";

// The file's name is the tool's name. It is read again before every turn: change it while the agent runs.
export default defineTool({
  description:
    "Rolls dice and answers each result and their sum. Use it whenever chance should decide.",
  input: z.object({
    count: z.number().int().min(1).max(100).default(1).describe("how many dice"),
    sides: z.number().int().min(2).max(1000).default(6).describe("sides of each die"),
  }),
  label: "read",
  execute({ count, sides }) {
    const rolls = Array.from({ length: count }, () => 1 + Math.floor(Math.random() * sides));
    return { rolls, sum: rolls.reduce((total, roll) => total + roll, 0) };
  },
});
