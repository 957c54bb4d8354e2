// The engine that drives pi, the coding agent, in its RPC mode: one process of one session, kept between runs.

import { Fault } from "@lichen/wire";
import type { HarnessEngine, HarnessOptions } from "../harness/port.ts";
import type { ProcessHost } from "../harness/process.ts";
import { PiConnection } from "./connection.ts";
import type { SessionFiles } from "./session-file.ts";

export interface PiEngineOptions extends HarnessOptions {
  /** Of pi's own command line, beside those that choose its mode and conversation. */
  readonly args?: readonly string[];
}

/** What a pi engine needs of its computer. */
interface PiHost {
  readonly processes: ProcessHost;
  readonly files: SessionFiles;
}

export function piEngine(options: PiEngineOptions, host: PiHost): HarnessEngine {
  let connection: PiConnection | undefined;
  return {
    name: "pi",
    can: { steer: true, approve: false, resume: true, takeover: true, images: true, models: true },
    async check({ model }) {
      if (model === undefined || (connection?.catalogue.mayHave(model) ?? true)) return;
      throw new Fault("invalid", `model: pi has no model ${model}; models are provider/id.`);
    },
    models: async () => connection?.catalogue.list() ?? { models: [] },
    open(session, lent) {
      connection = new PiConnection(session, lent, { options, ...host });
      return connection;
    },
    standing: () => connection?.supervisor.standing() ?? { isRunning: false },
    restart: async (by) => connection?.supervisor.restart(by),
    settingsChanged: async () => connection?.supervisor.settingsChanged(),
    newConversation: async () => connection?.supervisor.stop("a new conversation begins"),
  };
}
