export {
  type Found,
  type Harness,
  type HarnessCaps,
  Harnesses,
  type Places,
} from "./harnesses/harness.ts";
export {
  harnessEnvironment,
  isClaudeVariable,
  isProviderVariable,
} from "./harnesses/environment.ts";
export { commandOf, findProgram, programFolders } from "./harnesses/find-program.ts";
export { isDirectory, makeDirectory, placeOf, SessionName } from "./sessions/session-name.ts";
