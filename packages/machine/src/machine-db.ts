// `machine.db`: what a machine keeps beside its store so that it need not be read out of logs and transcripts each time:
// what was used, and the index of what was said before sessions continued a conversation. It is derived: where the file
// is gone it is made again from what there is, without the usage of sessions that were deleted before.

import { join } from "node:path";
import { Checkpoints } from "@lichen/runtime/node";
import { openPrivateDb, type PrivateDb } from "@lichen/server/node";
import { earlierTables } from "./search/earlier.ts";
import { usageTables } from "./usage/usage-table.ts";

export interface MachineDb extends Pick<PrivateDb, "db" | "change" | "look"> {
  /** Safe to call twice. */
  close(): Promise<void>;
}

export async function openMachineDb(stateDir: string): Promise<MachineDb> {
  const path = join(stateDir, "machine.db");
  const file = await openPrivateDb({
    path,
    schema: [...earlierTables, ...usageTables].map((it) => `${it};`).join("\n"),
    version: 1,
    again: "open the machine again: it is made anew",
  });
  // A power failure may take the last of it: its cursors go back with its rows. Nothing here waits for the disk.
  file.db.exec("pragma synchronous = normal; pragma wal_autocheckpoint = 0");
  const checkpoints = new Checkpoints(file.db, path);
  return {
    db: file.db,
    look: (body) => file.look(body),
    change: (body) => {
      const result = file.change(body);
      checkpoints.look();
      return result;
    },
    close: async () => {
      await checkpoints.close();
      file.close();
    },
  };
}
