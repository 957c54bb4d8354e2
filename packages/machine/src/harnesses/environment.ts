// The environment of a coding agent's processes: what a terminal needs, what the harness itself is known to read, and
// nothing else of this machine's.
//
//   MA3  No variable of Lichen's own reaches a process of an agent but its session's name.

import { delimiter, dirname } from "node:path";
import type { Harness, Places } from "./harness.ts";
import { programFolders } from "./find-program.ts";

/** What any program of a terminal reads. */
const terminal =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TERM|COLORTERM|TZ|TMPDIR|XDG_(CONFIG|DATA|CACHE|STATE|RUNTIME)_(HOME|DIR)|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|(HTTPS?|ALL|NO)_PROXY|(https?|all|no)_proxy)$/;
const lichens = /^LICHEN_/i;

/** Variables of model providers, by the names that harnesses for many of them read. */
export function isProviderVariable(name: string): boolean {
  if (/^(GH|GITHUB)_/.test(name)) return false;
  if (name.startsWith("CLAUDE_CODE_")) return isClaudeVariable(name);
  return (
    /^(ANTHROPIC|PI|OLLAMA|OPENAI|VENICE|OPENROUTER|GEMINI)_/.test(name) ||
    name.startsWith("GOOGLE_API") ||
    /_(API_KEY|TOKEN|BASE_URL)$/.test(name)
  );
}

/** Variables that Claude Code reads: its login, its provider, where its files lie, what it may tell others. */
export function isClaudeVariable(name: string): boolean {
  return (
    name.startsWith("ANTHROPIC_") ||
    /^CLAUDE_(CONFIG_DIR|CODE_(OAUTH_TOKEN|USE_BEDROCK|USE_VERTEX))$/.test(name) ||
    /^(DISABLE_(TELEMETRY|ERROR_REPORTING|AUTOUPDATER)|CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC)$/.test(
      name,
    ) ||
    /^(AWS_(REGION|PROFILE|DEFAULT_REGION|BEARER_TOKEN_BEDROCK)|CLOUD_ML_REGION)$/.test(name)
  );
}

/** All that a process of this harness gets. `session` is what it is told to be. */
export function harnessEnvironment(
  harness: Pick<Harness, "takesVariable">,
  places: Places,
  { session, command }: { readonly session: string; readonly command: readonly string[] },
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(places.env))
    if (value !== undefined && !lichens.test(name))
      if (terminal.test(name) || harness.takesVariable(name)) env[name] = value;
  const folders = [...programFolders(places), ...command.slice(0, 1).map((it) => dirname(it))];
  return {
    ...env,
    HOME: places.home,
    PATH: [...new Set(folders)].join(delimiter),
    TERM: env["TERM"] ?? "dumb",
    LICHEN_SESSION: session,
  };
}
