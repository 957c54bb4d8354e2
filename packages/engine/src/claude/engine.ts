// The Claude Code engine: one coding agent of this computer, driven over stream-json.

import type { Connection } from "@lichen/runtime";
import { Fault } from "@lichen/wire";
import type { HarnessEngine, HarnessOptions } from "../harness/port.ts";
import { ClaudeConnection } from "./connection.ts";
import { catalogueOf, checkModel, type ClaudeCommand, noGreeting } from "./greeting.ts";
import type { ClaudePlace } from "./place.ts";

export interface ClaudeEngine extends HarnessEngine {
  /** Its slash commands, as its newest process told them; none before the first. */
  commands(): readonly ClaudeCommand[];
}

export function claudeEngine(options: HarnessOptions, place: ClaudePlace): ClaudeEngine {
  let connection: ClaudeConnection | undefined;
  return {
    name: "claude",
    can: { steer: true, approve: true, resume: true, takeover: true, images: true, models: true },
    check: async ({ model, reasoning }) => {
      checkModel(model, connection?.greeting ?? noGreeting);
      if (reasoning !== undefined)
        throw new Fault("invalid", "reasoning: Claude Code decides by itself how long it thinks.");
    },
    models: async () => catalogueOf(connection?.greeting ?? noGreeting),
    open(session, host): Connection {
      connection = new ClaudeConnection(session, host, options, place);
      return connection;
    },
    commands: () => connection?.greeting.commands ?? [],
    standing: () => connection?.supervisor.standing() ?? { isRunning: false },
    async restart(by) {
      if (!connection)
        throw new Fault(
          "unavailable",
          "This coding agent has not been opened yet: send it a message.",
        );
      await connection.restart(by);
    },
    settingsChanged: async () => connection?.settingsChanged(),
    newConversation: async () => connection?.supervisor.finish("a new conversation began"),
  };
}
