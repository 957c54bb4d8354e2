export {
  type AgentFromDefinition,
  type AgentFromWorkspace,
  createAgent,
  createAgentFromDefinition,
  createAgentFromWorkspace,
  type CreateAgentFromDefinitionOptions,
  type CreateAgentOptions,
  type InvokableAgent,
} from "./create-agent.ts";
export { type OpenAuth, openAuth } from "../auth/host/open-auth.ts";
export { connectionAuthOf, connectionCredentials } from "../capabilities/host/node-capabilities.ts";
export { type FolderTools, openFolderTools } from "./folder-tools.ts";
export {
  type Attached,
  type HostFolderOptions,
  type OpenHostFolder,
  openHostFolder,
} from "./host-folder.ts";
export { type Host, type HostOptions, locateHost, openHost } from "./open-host.ts";
export {
  openAgent,
  type FolderChoice,
  type OpenAgentOptions,
  type OpenedAgent,
  type PartsChoice,
} from "./open-agent.ts";
export { AgentFolder, loadDefinition, type LoadedDefinition } from "../folder/host/agent-folder.ts";
export { FolderFiles, textOf } from "../folder/host/folder-files.ts";
export { isTooDeep, maxDepth } from "../door/depth.ts";
export { configNames, findAgent } from "../folder/host/find-agent.ts";
export { folderPlaces, hostProgram } from "../folder/host/read-only-places.ts";
export { nodeListener, type NodeServer, serveNode } from "../embed/host/serve-node.ts";
export { onStopSignal } from "./drain.ts";
export { challengeHost, type Connection, connectHost, readHostFile } from "./host-file.ts";
export { listenHost, type Listening, type ListenOptions } from "./listen.ts";
export { openStore, type OpenStore, type StoreOptions } from "./open-store.ts";
export { openPrivateDb, type PrivateDb } from "./private-db.ts";
export { guardedPlaces, makeGuardedPlaces, ownHome, realPlaceOf } from "./guarded-places.ts";
export { portHolder } from "./port-holder.ts";
export { urlsBeyond } from "./reached-at.ts";
export { createDoorServer, defaultPort, type DoorFetch, type Served, serveHost } from "./serve.ts";
export { writePrivately } from "./private-file.ts";
export { credentialsPath, hostsDir, liesIn, makeStateDir, realPlace } from "./state-dir.ts";
export { ownerTokenPath } from "./token.ts";
