// Lichen over HTTP as a process of its own: the real door on a real store, with an engine that answers one delta.
//
//   serve-lichen.ts FOLDER     the store is FOLDER/host.db, made where it is not there

import { join } from "node:path";
import { nodePlatform } from "@lichen/runtime/node";
import { createDoor } from "../packages/server/src/door/door.ts";
import { serveHost } from "../packages/server/src/host/serve.ts";
import { HostTokens } from "../packages/server/src/host/token.ts";
import { answerParent } from "./child.ts";
import { openLichen } from "./open-lichen.ts";

const folder = process.argv[2]!;
const report = (error: unknown): void => {
  throw error;
};
const platform = nodePlatform({ report });
const { owner } = await openLichen(join(folder, "host.db"));
const tokens = new HostTokens(folder, () => platform.now());
let names: ReadonlySet<string> = new Set();
const door = createDoor({
  owner: () => owner,
  listensAs: () => names,
  tokens,
  features: [],
  platform,
  log: ({ error }) => report(error),
});
const served = await serveHost({ fetch: (request) => door.app.fetch(request), port: 0 });
names = served.listensAs;

answerParent({ address: () => [served.port, tokens.owner] });
