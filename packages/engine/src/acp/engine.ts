// The engine `acp`: any agent of the Agent Client Protocol, by its command.
//
// Steers are taken, but not in the middle of a turn: the protocol's first version knows none, so a steer is sent as the
// next prompt of the same run. Its prompts carry no key by which an agent could tell a repetition: what it may have
// taken in before a crash ends `outcome_unknown`.

import type { Connection, EngineHost, EngineSession } from "@lichen/runtime";
import { Fault } from "@lichen/wire";
import { secretsOf } from "../harness/last-words.ts";
import { processHost } from "../harness/host/launch.ts";
import type { HarnessEngine, HarnessOptions } from "../harness/port.ts";
import { Choices } from "./choices.ts";
import { AcpDriver } from "./driver.ts";
import type { Modes } from "./wire.ts";

export interface AcpEngine extends HarnessEngine {
  /** The agent's modes, as it told them last; none before it has begun, or where it has none. */
  modes(): Modes | undefined;
  /** Puts the agent into one of its modes; starts it where it does not run. Throws `invalid` where it has none such. */
  setMode(modeId: string): Promise<void>;
}

/** An engine for one agent with one session. */
export function createAcpEngine(options: HarnessOptions): AcpEngine {
  const choices = new Choices(secretsOf(options.env));
  let driver: AcpDriver | undefined;
  const opened = (): AcpDriver => {
    if (!driver)
      throw new Fault("unavailable", "This agent's session is not open: send it a message.");
    return driver;
  };
  return {
    name: "acp",
    can: {
      ...{ steer: true, approve: true, resume: true },
      ...{ takeover: false, images: true, models: true },
    },
    check: async (settings) => {
      // What it offers it tells when it begins.
      if (settings.model !== undefined && !choices.isKnown) await opened().supervisor.ensure();
      choices.check(settings);
    },
    models: async () => choices.catalogue(),
    open(session: EngineSession, host: EngineHost): Connection {
      driver = new AcpDriver(session, host, { options, processes: processHost, choices });
      return driver;
    },
    standing: () => driver?.supervisor.standing() ?? { isRunning: false },
    restart: (by) => opened().supervisor.restart(by),
    settingsChanged: async () => driver?.settingsChanged(),
    newConversation: async () => driver?.supervisor.stop("a new conversation begins"),
    modes: () => choices.modes,
    setMode: (modeId) => opened().setMode(modeId),
  };
}
