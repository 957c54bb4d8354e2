import { defineConfig } from "lichen";

export default defineConfig({
  // The AGENTS.md above this folder is for those who work on Lichen.
  projectContext: false,
  // Three tools of its own are all it needs: no shell, no other files.
  codingTools: false,
});
