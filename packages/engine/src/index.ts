export { errorOutcome, outcomeOf, type Tool, type ToolContext, type ToolSwitches } from "./tool.ts";
