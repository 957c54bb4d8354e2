// Which of Claude Code's own tools change nothing: all others may, those of MCP servers too.

import type { Label } from "@lichen/wire";

const reading = new Set([
  ...["Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch"],
  ...["TodoWrite", "TodoRead", "Task", "Agent", "TaskCreate", "TaskGet", "TaskList", "TaskOutput"],
  ...["TaskUpdate", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "Skill", "BashOutput"],
  ...["ListMcpResourcesTool", "ReadMcpResourceTool", "CronList", "ReportFindings"],
]);

/** Also what only starts others, which may change something. */
export function mayHaveEffects(tool: string): boolean {
  return labelOf(tool) === "write" || tool === "Task" || tool === "Agent" || tool === "Skill";
}

export function labelOf(tool: string): Label {
  return reading.has(tool) ? "read" : "write";
}
