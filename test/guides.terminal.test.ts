// The same for the pages that take over a terminal: what is typed there, and what it shows.

import { test } from "vitest";
import { follow, pages } from "./reader.ts";

const all = await pages();

test.for(all.filter(({ hasScreen }) => hasScreen))(
  "[K21] every snippet of $path runs in a terminal, which shows what the page says",
  { timeout: 240_000 },
  follow,
);
