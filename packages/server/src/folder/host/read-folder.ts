// Reads an agent's folder whole. A broken tool or skill is reported and the rest works; a config that cannot be used is
// a `Fault`, because nothing can be said without it.

import { readdirSync } from "node:fs";
import { basename, extname, join, relative } from "node:path";
import type { Tool } from "@lichen/engine";
import { Fault } from "@lichen/wire";
import { connectionSet, type FoundConnection } from "../connection-set.ts";
import { type LichenConfig, parseConfig } from "../define-config.ts";
import { isTool } from "../define-tool.ts";
import type { Definition, Diagnostic } from "../definition.ts";
import { instructionsOf } from "../prompt.ts";
import { parseSkill, type Skill } from "../skill.ts";
import { type FoundTool, isCodingToolOn, toolName, toolSet } from "../tool-set.ts";
import type { AuthoredModules } from "./authored-modules.ts";
import { maxTextBytes, readContextFiles, tooLong } from "./context-files.ts";
import type { AgentPlace } from "./find-agent.ts";
import { type FolderFiles, regularFileFix, textOf } from "./folder-files.ts";
import { pathFrom } from "./paths.ts";
import { Stamps } from "./stamps.ts";

/** The coding tools under a config; none where it switches them off. */
export type MakeCodingTools = (config: LichenConfig) => readonly Tool[] | Promise<readonly Tool[]>;

export interface ReadFolder {
  readonly definition: Definition;
  readonly diagnostics: readonly Diagnostic[];
  readonly modelsJson: string | undefined;
  readonly stamps: Stamps;
}

const maxModelsBytes = 1_024 * 1_024;

export async function readFolder(
  place: AgentPlace,
  makeCodingTools: MakeCodingTools,
  modules: AuthoredModules,
  files: FolderFiles,
): Promise<ReadFolder> {
  const { dir, cwd } = place;
  const stamps = new Stamps();
  const diagnostics: Diagnostic[] = [];
  const configFile = relative(dir, place.configFile);

  const config = await readConfig(place, stamps, modules);
  const modelsJson = await readModels(dir, stamps, files);
  const persona = await readPersona(dir, stamps, diagnostics, files);
  const { projectContext = true } = config;
  const contextFiles = await readContextFiles(place, {
    files,
    stamps,
    diagnostics,
    projectContext,
  });
  const skills = await readSkills(place, stamps, diagnostics, files);
  const authored = await readTools(dir, stamps, diagnostics, modules);
  const { tools, diagnostics: collisions } = toolSet(
    config,
    configFile,
    await makeCodingTools(config),
    authored,
  );
  const { connections, diagnostics: wrong } = connectionSet(
    config,
    configFile,
    await readConnections(dir, stamps, diagnostics, modules),
  );
  diagnostics.push(...collisions, ...wrong);
  if (
    skills.length > 0 &&
    !isCodingToolOn(config, "read") &&
    !tools.some(({ name }) => name === "read")
  )
    diagnostics.push({
      severity: "warning",
      file: configFile,
      problem: "the agent has skills and no read tool, so it cannot open them",
      fix: 'put "read" into codingTools',
    });

  const definition: Definition = {
    name: basename(dir),
    instructions: instructionsOf({
      persona,
      contextFiles,
      skills,
      cwd,
      hasDeferredTools: tools.some(({ deferred }) => deferred),
    }),
    ...(persona === undefined ? {} : { persona }),
    contextFiles,
    skills,
    tools,
    connections,
    config,
  };
  return { definition, diagnostics, modelsJson, stamps };
}

async function readConfig(
  { dir, configFile }: AgentPlace,
  stamps: Stamps,
  modules: AuthoredModules,
): Promise<LichenConfig> {
  stamps.note(configFile);
  const loaded = await modules.load(configFile);
  const name = relative(dir, configFile);
  if (loaded.problem !== undefined) throw new Fault("invalid", `${name}: ${loaded.problem}.`);
  return parseConfig(loaded.value, name);
}

async function readModels(
  dir: string,
  stamps: Stamps,
  files: FolderFiles,
): Promise<string | undefined> {
  const path = join(dir, "models.json");
  stamps.note(path);
  const read = await files.read(path, dir, maxModelsBytes);
  if (read === undefined) return undefined;
  const problem = read.problem ?? (read.isCut ? "is larger than 1 MiB" : undefined);
  if (problem !== undefined) throw new Fault("invalid", `models.json: it ${problem}.`);
  if (read.problem !== undefined) return undefined;
  const text = textOf(read);
  checkJson("models.json", text);
  return text;
}

async function readPersona(
  dir: string,
  stamps: Stamps,
  diagnostics: Diagnostic[],
  files: FolderFiles,
): Promise<string | undefined> {
  const file = "persona.md";
  stamps.note(join(dir, file));
  const read = await files.read(join(dir, file), dir, maxTextBytes);
  if (read === undefined) return undefined;
  if (read.problem !== undefined) {
    diagnostics.push({ severity: "error", file, problem: read.problem, fix: regularFileFix });
    return undefined;
  }
  if (read.isCut) diagnostics.push(tooLong(file));
  return textOf(read);
}

async function readSkills(
  { dir, cwd }: AgentPlace,
  stamps: Stamps,
  diagnostics: Diagnostic[],
  files: FolderFiles,
): Promise<Skill[]> {
  const skills: Skill[] = [];
  for (const folder of namesIn(join(dir, "skills"), stamps)) {
    const path = join(dir, "skills", folder, "SKILL.md");
    const file = relative(dir, path);
    stamps.note(path);
    const read = await files.read(path, dir, maxTextBytes);
    if (read === undefined) continue;
    if (read.problem !== undefined) {
      diagnostics.push({ severity: "error", file, problem: read.problem, fix: regularFileFix });
      continue;
    }
    if (read.isCut) diagnostics.push(tooLong(file));
    const report = (severity: Diagnostic["severity"], problem: string) =>
      diagnostics.push({
        severity,
        file,
        problem,
        fix: "correct its frontmatter: name (as its folder) and description, optionally license, compatibility, metadata, allowed-tools",
      });
    const { skill, problems } = await parseSkill(textOf(read), folder);
    for (const problem of problems) report(skill ? "warning" : "error", problem);
    if (skill) skills.push({ ...skill, path: pathFrom(cwd, path) });
  }
  return skills;
}

async function readTools(
  dir: string,
  stamps: Stamps,
  diagnostics: Diagnostic[],
  modules: AuthoredModules,
): Promise<FoundTool[]> {
  const tools: FoundTool[] = [];
  for (const { file, name, value } of await readModules(dir, "tools", stamps, diagnostics, modules))
    if (!toolName.test(name))
      diagnostics.push({
        severity: "error",
        file,
        problem: `"${name}" cannot be a tool's name`,
        fix: "rename the file: letters, digits, _ and -, at most 64",
      });
    else if (isTool(value)) tools.push({ file, tool: { ...value, name } });
    else
      diagnostics.push({
        severity: "error",
        file,
        problem: "has no tool as its default export",
        fix: "write: export default defineTool({ description, input: z.object({ … }), execute })",
      });
  return tools;
}

async function readConnections(
  dir: string,
  stamps: Stamps,
  diagnostics: Diagnostic[],
  modules: AuthoredModules,
): Promise<FoundConnection[]> {
  const found = await readModules(dir, "connections", stamps, diagnostics, modules);
  return found.filter(({ file, value }) => {
    if (value !== undefined) return true;
    diagnostics.push({
      severity: "error",
      file,
      problem: "has no connection as its default export",
      fix: 'write: export default defineConnection({ kind: "mcp", url: "https://…" })',
    });
    return false;
  });
}

/** The default exports of the modules in one directory of the folder; those that cannot be loaded are reported. */
async function readModules(
  dir: string,
  directory: string,
  stamps: Stamps,
  diagnostics: Diagnostic[],
  modules: AuthoredModules,
): Promise<FoundConnection[]> {
  const files = namesIn(join(dir, directory), stamps).filter(
    (name) => /\.(ts|js|mjs)$/.test(name) && !/^\.|\.d\.ts$|\.test\.\w+$/.test(name),
  );
  const read = files.map(async (base): Promise<FoundConnection | undefined> => {
    const path = join(dir, directory, base);
    const file = relative(dir, path);
    stamps.note(path);
    const loaded = await modules.load(path);
    if (loaded.problem === undefined)
      return { file, name: basename(base, extname(base)), value: loaded.value };
    diagnostics.push({
      severity: "error",
      file,
      problem: loaded.problem,
      fix: "correct the file: it is read again before the next turn",
    });
    return undefined;
  });
  return (await Promise.all(read)).filter((found) => found !== undefined);
}

/** The names in a directory, in their order; none where there is no directory. */
function namesIn(dir: string, stamps: Stamps): string[] {
  stamps.note(dir);
  try {
    return readdirSync(dir).sort();
  } catch {
    return [];
  }
}

function checkJson(file: string, text: string): void {
  try {
    JSON.parse(text);
  } catch (error) {
    throw new Fault("invalid", `${file}: ${(error as Error).message}. Correct the file.`);
  }
}
