// A skill's file: YAML frontmatter by the Agent Skills format, then what the model reads when it uses the skill. Pure.

export interface Skill {
  readonly name: string;
  readonly description: string;
  /** Where the model reads it: from the working directory where that contains it, else absolute. */
  readonly path: string;
  readonly license?: string;
  readonly compatibility?: string;
  readonly metadata?: Record<string, string>;
  readonly allowedTools?: string;
}

export interface ParsedSkill {
  /** Absent where a problem makes the skill unusable. */
  readonly skill?: Omit<Skill, "path">;
  readonly problems: readonly string[];
}

const known = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];

/** Reads `SKILL.md` of the folder `folderName`. */
export async function parseSkill(source: string, folderName: string): Promise<ParsedSkill> {
  const match = /^\uFEFF?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/.exec(source);
  if (!match) return unusable("begins with no frontmatter between two lines of ---");
  const text = match[1] ?? "";
  const plain = plainFrontmatter(text);
  if (plain) return skillOf(plain, folderName);
  // YAML costs a host more to load than all its own code of the folder: only what needs it pays for it.
  const yaml = await import("yaml");
  try {
    return skillOf(yaml.parse(text, { maxAliasCount: 10 }), folderName);
  } catch (error) {
    if (!(error instanceof yaml.YAMLParseError))
      return unusable(`its frontmatter: ${String(error)}`);
    const line = (error.linePos?.[0].line ?? 0) + 1;
    return unusable(`its frontmatter is no YAML (line ${line}): ${error.message.split("\n")[0]}`);
  }
}

/**
 * The frontmatter, where each line is a key and plain words that YAML reads as the text they are: nearly always.
 * @internal Exported for its tests.
 */
export function plainFrontmatter(text: string): Record<string, string> | undefined {
  const front: Record<string, string> = {};
  for (const line of text.split(/\r?\n/)) {
    const match = /^([a-z]+(?:-[a-z]+)*): ([A-Za-z](?:[\w ,.'()!?;/+-]*[\w,.'()!?;/+-])?)$/.exec(
      line,
    );
    if (!match || /^(?:true|false|null)$/i.test(match[2]!) || Object.hasOwn(front, match[1]!))
      return undefined;
    front[match[1]!] = match[2]!;
  }
  return front;
}

function skillOf(front: unknown, folderName: string): ParsedSkill {
  if (!isRecord(front)) return unusable("its frontmatter is not a list of keys");

  const fatal = [
    ...nameProblems(front["name"], folderName),
    ...describeProblems(front["description"]),
  ];
  const slight: string[] = [];
  for (const key of Object.keys(front))
    if (!known.includes(key)) slight.push(`"${key}" is not a key of a skill`);
  const license = textOr(front["license"], "license", Infinity, slight);
  const compatibility = textOr(front["compatibility"], "compatibility", 500, slight);
  const allowedTools = textOr(front["allowed-tools"], "allowed-tools", Infinity, slight);
  const metadata = metadataOr(front["metadata"], slight);
  const problems = [...fatal, ...slight];
  if (fatal.length > 0) return { problems };
  return {
    problems,
    skill: {
      name: String(front["name"]),
      description: String(front["description"]).trim(),
      ...(license === undefined ? {} : { license }),
      ...(compatibility === undefined ? {} : { compatibility }),
      ...(metadata === undefined ? {} : { metadata }),
      ...(allowedTools === undefined ? {} : { allowedTools }),
    },
  };
}

function unusable(problem: string): ParsedSkill {
  return { problems: [problem] };
}

function nameProblems(name: unknown, folderName: string): string[] {
  if (typeof name !== "string" || name === "") return ["name is missing or not text"];
  const problems: string[] = [];
  if (name.length > 64) problems.push("name is longer than 64 characters");
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name))
    problems.push(`name "${name}" must be of a-z, 0-9 and single hyphens between them`);
  if (name !== folderName)
    problems.push(`name "${name}" must be the name of its folder, "${folderName}"`);
  return problems;
}

function describeProblems(description: unknown): string[] {
  if (typeof description !== "string" || description.trim() === "")
    return ["description is missing or not text"];
  return description.length > 1_024 ? ["description is longer than 1,024 characters"] : [];
}

function textOr(
  value: unknown,
  key: string,
  limit: number,
  problems: string[],
): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== "string") problems.push(`${key} is not text`);
  else if (value.length > limit) problems.push(`${key} is longer than ${limit} characters`);
  else return value;
  return undefined;
}

function metadataOr(value: unknown, problems: string[]): Record<string, string> | undefined {
  if (value === undefined) return undefined;
  const metadata: Record<string, string> = {};
  for (const [key, member] of Object.entries(isRecord(value) ? value : {}))
    if (typeof member === "string") metadata[key] = member;
  if (!isRecord(value) || Object.keys(metadata).length < Object.keys(value).length)
    problems.push("metadata is not a map of texts");
  return metadata;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
