// A host as a process: a real store in the folder that it is given, and an engine whose runs end when a file appears.
//
//   host.ts FOLDER [stubborn]     stubborn: the engine does not end when it is told to

import { existsSync } from "node:fs";
import { join } from "node:path";
import { nodePlatform } from "@lichen/runtime/node";
import { scriptedEngine } from "@lichen/runtime/testing";
import { onStopSignal } from "../../../src/host/drain.ts";
import { listenHost } from "../../../src/host/listen.ts";
import { openStore } from "../../../src/host/open-store.ts";

const folder = process.argv[2]!;
const isStubborn = process.argv[3] === "stubborn";
const report = (error: unknown): void => {
  console.error(error);
};
const platform = nodePlatform({ report });
const store = await openStore(join(folder, "host.db"), { platform });
const engine = scriptedEngine(() =>
  existsSync(join(folder, "go")) ? [{ say: "done" }] : [{ hang: true }],
);
await store.owner.attach({
  agent: "a",
  engine: isStubborn
    ? {
        ...engine,
        open: () => ({ run: () => new Promise(() => {}), close: () => Promise.resolve() }),
      }
    : engine,
});
const listening = await listenHost({
  owner: store.owner,
  stateDir: folder,
  platform,
  log: ({ error }) => report(error),
  port: 0,
  close: (options) => store.close(options),
});
onStopSignal(() => {
  listening.drain({ graceMs: 3_000 }).then(
    () => process.exit(0),
    (error: unknown) => {
      report(error);
      process.exit(1);
    },
  );
});
console.log(JSON.stringify({ url: listening.url, token: listening.token }));
