// What engines use on a Node host: the coding tools and the sandbox around an agent's processes.

export {
  type CodingToolsOptions,
  codingToolNames,
  createCodingTools,
} from "../tools/host/coding-tools.ts";
export { openSandbox, type Sandbox, type SandboxOptions } from "../tools/host/sandbox.ts";
