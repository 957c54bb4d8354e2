// The system prompt: who the agent is, what it must know of its project, which skills it has, where it works.
// No date and nothing else that changes by itself, so that providers can keep it cached.

import type { ContextFile } from "./definition.ts";
import { searchToolsName } from "./search-tools.ts";
import type { Skill } from "./skill.ts";

export interface PromptParts {
  readonly persona: string | undefined;
  readonly contextFiles: readonly ContextFile[];
  readonly skills: readonly Skill[];
  readonly cwd: string;
  readonly hasDeferredTools: boolean;
}

const defaultPersona =
  "You are a capable, honest assistant. Do what you are asked with the tools you have, say plainly what you did and what you could not do, and ask when a decision is not yours to make.";

export function instructionsOf(parts: PromptParts): string {
  const persona = parts.persona?.trim();
  const blocks = [persona === undefined || persona === "" ? defaultPersona : persona];
  if (parts.contextFiles.length > 0)
    blocks.push(
      [
        "# Project context",
        ...parts.contextFiles.map(({ path, content }) => `## ${path}\n\n${content.trim()}`),
      ].join("\n\n"),
    );
  if (parts.skills.length > 0)
    blocks.push(
      [
        "# Skills",
        "",
        "Each skill is a file of instructions. Read its file with the read tool before you do what it describes.",
        "",
        ...parts.skills.map(
          ({ name, description, path }) =>
            `- ${name}: ${description.replace(/\s+/g, " ")} (${path})`,
        ),
      ].join("\n"),
    );
  if (parts.hasDeferredTools)
    blocks.push(
      `You have more tools than you see now. When none of those you see fits, look for one with ${searchToolsName}.`,
    );
  blocks.push(`Your working directory is ${parts.cwd}`);
  return blocks.join("\n\n");
}
