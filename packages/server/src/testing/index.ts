// What tests of agents and engines stand on: scripts for models and engines, and the contracts they must keep.

export { type ScriptedProvider, startScriptedProvider } from "@lichen/engine/testing";
export { scriptedEngine } from "@lichen/runtime/testing";
export { agentContract, type AgentSubject } from "./agent.contract.ts";
