import { defineConnection } from "lichen";

// What grows where: one file for each bed. Nothing outside this folder is reached, whatever links lie in it.
export default defineConnection({
  kind: "files",
  root: "beds",
  mode: "write",
  description: "What grows in each bed: one file for each.",
  // A bed is dug up only when a person allows it, each time.
  labels: { remove: "confirm" },
});
