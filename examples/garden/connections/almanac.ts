import { defineConnection } from "lichen";

// A program beside the agent: an MCP server. It gets PATH, a HOME of its own and nothing else of the environment.
export default defineConnection({
  kind: "mcp",
  command: process.execPath,
  args: ["almanac.ts"],
  description: "How often a plant wants water.",
  // Nobody takes a server's own word for it: what its owner has not labelled counts as a write.
  labels: { plant: "read" },
});
