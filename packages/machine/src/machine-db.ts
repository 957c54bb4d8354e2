// `machine.db`: what a machine keeps beside its store so that it need not be read out of logs and transcripts each time:
// what was used, and the index of what was said before sessions continued a conversation. It is derived: where the file
// is gone it is made again from what there is, without the usage of sessions that were deleted before.

import { join } from "node:path";
import { openPrivateDb, type PrivateDb } from "@lichen/server/node";
import { earlierTables } from "./search/earlier.ts";
import { usageTables } from "./usage/usage-table.ts";

export async function openMachineDb(stateDir: string): Promise<PrivateDb> {
  const file = await openPrivateDb({
    path: join(stateDir, "machine.db"),
    schema: [...earlierTables, ...usageTables].map((it) => `${it};`).join("\n"),
    version: 1,
    again: "open the machine again: it is made anew",
  });
  // A power failure may take the last of it: its cursors go back with its rows.
  file.db.exec("pragma synchronous = normal");
  return file;
}
