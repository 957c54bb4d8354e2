export {
  type Found,
  type Harness,
  type HarnessCaps,
  Harnesses,
  type Places,
  type LineReading,
  type OutsideMessage,
} from "./harnesses/harness.ts";
export {
  harnessEnvironment,
  isClaudeVariable,
  isProviderVariable,
} from "./harnesses/environment.ts";
export { acpHarness } from "./harnesses/acp.ts";
export { claudeHarness } from "./harnesses/claude.ts";
export { ownHarnesses } from "./harnesses/own-harnesses.ts";
export { piHarness } from "./harnesses/pi.ts";
export { commandOf, findProgram, programFolders } from "./harnesses/find-program.ts";
export { onlySession } from "./harnesses/late-engine.ts";
export { type Machine, type MachineOptions, openMachine } from "./open-machine.ts";
export {
  type Ask,
  type Deed,
  type DoorEnv,
  machineRoute,
  refusedAs,
  type SessionAsk,
  sessionRoute,
} from "./routes/route.ts";
export type { Adopt, AdoptedSession } from "./routes/session-routes.ts";
export type { MachineSessionInfo } from "./sessions/info.ts";
export { type MachineSessions, type NewSession } from "./sessions/machine-sessions.ts";
export type { PromptAnswer, Seat, SettingsPatch, Wall } from "./sessions/seat.ts";
export { uploadsOf } from "./files/uploads.ts";
export { isDirectory, placeOf, SessionName } from "./sessions/session-name.ts";
