// Where the code of an agent's folder runs for `lichen tool`: a process as the launcher makes one, with its cache of compiled
// code. What is told to it meanwhile is kept.

import { enableCompileCache } from "node:module";

const [, , cache] = process.argv;
if (cache !== undefined && cache !== "") enableCompileCache(cache);
// Messages are held back until somebody listens.
await import("./apart-live.ts");
