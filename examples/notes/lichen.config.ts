import { defineConfig } from "lichen";

export default defineConfig({
  // Three tools of its own are all it needs: no shell, no other files.
  codingTools: false,
});
