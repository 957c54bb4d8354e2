import { defineConfig } from "lichen";

// No model is named, so Lichen takes the best one that it has a key for, and the built-in demo model if there is none.
export default defineConfig({
  // The AGENTS.md above this folder is for those who work on Lichen.
  projectContext: false,
  // This agent plays with dice and reads its skill. It gets no other hands.
  codingTools: ["read"],
});
