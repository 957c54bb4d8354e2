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

/** Providers of models, by the names that variables of theirs begin with. */
const providers = [
  ...["AI_GATEWAY", "ANTHROPIC", "ANT_LING", "AZURE_OPENAI", "BASETEN", "CEREBRAS", "COHERE"],
  ...["DASHSCOPE", "DEEPSEEK", "FIREWORKS", "GEMINI", "GOOGLE", "GOOGLE_CLOUD", "GROQ", "KIMI"],
  ...["LLAMA", "META", "MINIMAX", "MINIMAX_CN", "MISTRAL", "MOONSHOT", "NVIDIA", "OLLAMA"],
  ...["OPENAI", "OPENCODE", "OPENROUTER", "PERPLEXITY", "TOGETHER", "VENICE", "XAI", "XIAOMI"],
  ...["XIAOMI_TOKEN_PLAN_[A-Z]+", "QWEN_TOKEN_PLAN(_[A-Z]+)*", "ZAI", "ZAI_CODING_CN"],
];
const ofProvider = new RegExp(`^(${providers.join("|")})_(API_KEY|API_BASE|BASE_URL|MODEL)$`);
/** What further of theirs is read, and names no more than a model, an account or a place. */
const further = new RegExp(
  `^(${[
    "AZURE_OPENAI_(RESOURCE_NAME|API_VERSION|DEPLOYMENT_NAME_MAP|ENDPOINT)",
    "OPENAI_(ORG_ID|ORGANIZATION|PROJECT|PROJECT_ID)",
    "OLLAMA_HOST|HF_TOKEN|COPILOT_GITHUB_TOKEN",
    "GOOGLE_(CLOUD_(PROJECT|LOCATION)|APPLICATION_CREDENTIALS|GENAI_USE_VERTEXAI)|GCLOUD_PROJECT",
    "PI_(?!.*(TOKEN|SECRET|PASSWORD|KEY)).+|QWEN_HOME",
  ].join("|")})$`,
);

/**
 * Variables of model providers, by the names that harnesses for many of them read. No rule by an ending: most keys and
 * tokens of a computer open something else.
 */
export function isProviderVariable(name: string): boolean {
  return ofProvider.test(name) || further.test(name) || isClaudeVariable(name);
}

/** Variables that Claude Code reads: its login, its provider, where its files lie, what it may tell others. */
export function isClaudeVariable(name: string): boolean {
  return (
    (name.startsWith("ANTHROPIC_") && !name.includes("ADMIN")) ||
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
