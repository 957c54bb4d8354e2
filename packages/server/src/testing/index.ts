export { agentContract, type AgentSubject } from "./agent.contract.ts";
