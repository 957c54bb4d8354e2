import { defineConfig } from "lichen";

export default defineConfig({
  // The AGENTS.md above this folder is for those who work on Lichen.
  projectContext: false,
  // All that it may use stands in connections/.
  codingTools: false,
  // Its operations are few, and would be tools of their own. Here the model writes programs instead, to show how that is.
  capabilities: { directUpTo: 0 },
});
