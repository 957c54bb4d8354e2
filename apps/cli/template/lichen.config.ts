import { defineConfig } from "lichen";

export default defineConfig({
  // The model, as provider/id: `lichen models` lists them. Its key is read from the environment or .secrets/.env.
  // Without one, the first model whose key is at hand is taken, else the built-in `demo`.
  // model: "anthropic/claude-sonnet-4-5",

  // What the agent may do in its folder: true for all of read, write, edit, bash, grep, find and ls, or a list of them.
  codingTools: ["read", "grep", "find", "ls"],
});
