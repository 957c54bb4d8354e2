// Runs what the README and the guides tell a reader to do, as a reader would: files are written, lines are typed in
// order, and what a guide shows as output has to come.

import { test } from "vitest";
import { follow, pages } from "./reader.ts";

const all = await pages();

test.for(all.filter(({ hasScreen }) => !hasScreen))(
  "[K21] every snippet of $path runs and prints what the page says",
  { timeout: 240_000 },
  follow,
);
