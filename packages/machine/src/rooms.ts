// The rooms of a machine around its sessions: conversations and terminals of this computer, history, search, usage,
// files. They share one file of derived tables, and end before the store does.

import { hostname } from "node:os";
import type { Owner, Platform } from "@lichen/runtime";
import type { Hono } from "hono";
import { conversationRoutes } from "./conversations/conversation-routes.ts";
import { Conversations } from "./conversations/conversations.ts";
import { transcriptHarnesses } from "./conversations/transcript.ts";
import { fileRoutes } from "./files/file-routes.ts";
import { Uploads } from "./files/uploads.ts";
import type { Harnesses } from "./harnesses/harness.ts";
import { historyRoutes } from "./history/history-routes.ts";
import { openMachineDb } from "./machine-db.ts";
import type { DoorEnv } from "./routes/route.ts";
import type { Adopt } from "./routes/session-routes.ts";
import { EarlierTurns } from "./search/earlier.ts";
import { Importing } from "./search/importing.ts";
import { searchRoutes } from "./search/search-routes.ts";
import type { MachineSessions } from "./sessions/machine-sessions.ts";
import type { Seat } from "./sessions/seat.ts";
import { Terminals } from "./terminals/terminals.ts";
import { usageRoutes } from "./usage/usage-routes.ts";
import { UsageTable } from "./usage/usage-table.ts";
import { UsageReader } from "./usage/usage.ts";

export interface RoomsOptions {
  readonly owner: Owner;
  readonly sessions: MachineSessions;
  readonly harnesses: Harnesses;
  readonly platform: Platform;
  readonly stateDir: string;
  /** How long files of devices are kept; two weeks unless told otherwise, 0 for ever. */
  readonly keepUploadsMs?: number;
}

export interface Rooms {
  readonly routers: readonly Hono<DoorEnv>[];
  readonly adopt: Adopt;
  close(): Promise<void>;
}

/** What a first count of long logs may keep a caller waiting. */
const longestCountMs = 3_000;

/** Opens the rooms beside sessions that are open. */
export async function openRooms(options: RoomsOptions): Promise<Rooms> {
  const { owner, sessions, harnesses, platform, stateDir, keepUploadsMs } = options;
  const { places } = harnesses;
  const file = await openMachineDb(stateDir);
  const earlier = new EarlierTurns(file);
  const importing = new Importing(earlier, platform);
  const table = new UsageTable(file);
  const readers = new Map<string, UsageReader>();
  const terminals = new Terminals(places);
  const conversations = new Conversations({ sessions, places, terminals });
  const isKept = (agent: string): boolean => owner.kept().some((it) => it.agent === agent);
  const uploads = new Uploads({
    stateDir,
    platform,
    isGone: (agent) => !isKept(agent),
    ...(keepUploadsMs === undefined ? {} : { keepMs: keepUploadsMs }),
  });

  const follow = (seat: Seat): void => {
    const harness = transcriptHarnesses.find((it) => it === seat.harness.name);
    if (harness && seat.settings.earlier)
      earlier.begin(seat.id, { harness, ...seat.settings.earlier });
    const reader = new UsageReader(seat, table, {
      report: (error) => platform.report(error),
      deleted: () => {
        readers.delete(seat.id);
        importing.forget(seat.id);
      },
    });
    readers.set(seat.id, reader);
    importing.start();
  };
  sessions.follow(follow);
  for (const agent of earlier.agents()) if (!isKept(agent)) importing.forget(agent);
  uploads.start();

  const counted = async (): Promise<void> => {
    const late = Promise.withResolvers<void>();
    const cancel = platform.after(longestCountMs, late.resolve);
    const all = Promise.all([...readers.values()].map((it) => it.counted()));
    await Promise.race([all, late.promise]);
    cancel();
  };
  return {
    routers: [
      conversationRoutes(conversations, terminals),
      historyRoutes({ sessions, places }),
      searchRoutes(sessions, earlier),
      usageRoutes({ table, machine: hostname(), counted }),
      fileRoutes(sessions, uploads),
    ],
    adopt: (wish, by) => conversations.adopt(wish, by),
    close: async () => {
      await Promise.all([importing.close(), uploads.close()]);
      await Promise.all([...readers.values()].map((it) => it.close()));
      await file.close();
    },
  };
}
