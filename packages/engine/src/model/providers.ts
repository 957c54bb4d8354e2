// The providers that can be had, each loaded when a model of it is first asked for.
//
// Importing a provider brings its catalogue; the library that talks to it comes with the first request. `keys` are the
// variables whose presence says that a provider is configured; its own code decides whether they suffice.

import type { Provider } from "@earendil-works/pi-ai";

export interface ProviderEntry {
  readonly name: string;
  readonly keys: readonly string[];
  /** What a newcomer gets whose key is found and who named no model; the first that the catalogue has. */
  readonly preferred?: readonly string[];
  load(): Promise<Provider>;
}

/** In the order in which a found key decides. */
export const providers: Readonly<Record<string, ProviderEntry>> = {
  anthropic: {
    name: "Anthropic",
    keys: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN"],
    preferred: ["claude-sonnet-5-5", "claude-sonnet-5"],
    load: async () =>
      (await import("@earendil-works/pi-ai/providers/anthropic")).anthropicProvider(),
  },
  openai: {
    name: "OpenAI",
    keys: ["OPENAI_API_KEY"],
    preferred: ["gpt-6.2-sol", "gpt-6-sol", "gpt-5.5"],
    load: async () => (await import("@earendil-works/pi-ai/providers/openai")).openaiProvider(),
  },
  google: {
    name: "Google",
    keys: ["GEMINI_API_KEY"],
    preferred: ["gemini-flash-latest"],
    load: async () => (await import("@earendil-works/pi-ai/providers/google")).googleProvider(),
  },
  openrouter: {
    name: "OpenRouter",
    keys: ["OPENROUTER_API_KEY"],
    preferred: ["~anthropic/claude-sonnet-latest"],
    load: async () =>
      (await import("@earendil-works/pi-ai/providers/openrouter")).openrouterProvider(),
  },
  xai: {
    name: "xAI",
    keys: ["XAI_API_KEY"],
    preferred: ["grok-4.7"],
    load: async () => (await import("@earendil-works/pi-ai/providers/xai")).xaiProvider(),
  },
  mistral: {
    name: "Mistral",
    keys: ["MISTRAL_API_KEY"],
    preferred: ["mistral-medium-latest"],
    load: async () => (await import("@earendil-works/pi-ai/providers/mistral")).mistralProvider(),
  },
  groq: {
    name: "Groq",
    keys: ["GROQ_API_KEY"],
    preferred: ["openai/gpt-oss-120b"],
    load: async () => (await import("@earendil-works/pi-ai/providers/groq")).groqProvider(),
  },
  deepseek: {
    name: "DeepSeek",
    keys: ["DEEPSEEK_API_KEY"],
    preferred: ["deepseek-flash"],
    load: async () => (await import("@earendil-works/pi-ai/providers/deepseek")).deepseekProvider(),
  },
  moonshotai: {
    name: "Moonshot AI",
    keys: ["MOONSHOT_API_KEY"],
    preferred: ["kimi-k3"],
    load: async () =>
      (await import("@earendil-works/pi-ai/providers/moonshotai")).moonshotaiProvider(),
  },
  zai: {
    name: "Z.AI",
    keys: ["ZAI_API_KEY"],
    preferred: ["glm-5.3"],
    load: async () => (await import("@earendil-works/pi-ai/providers/zai")).zaiProvider(),
  },
  cerebras: {
    name: "Cerebras",
    keys: ["CEREBRAS_API_KEY"],
    preferred: ["gpt-oss-120b"],
    load: async () => (await import("@earendil-works/pi-ai/providers/cerebras")).cerebrasProvider(),
  },
  "amazon-bedrock": {
    name: "Amazon Bedrock",
    keys: ["AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"],
    load: async () =>
      (await import("@earendil-works/pi-ai/providers/amazon-bedrock")).amazonBedrockProvider(),
  },
  "ant-ling": {
    name: "Ant Ling",
    keys: ["ANT_LING_API_KEY"],
    load: async () => (await import("@earendil-works/pi-ai/providers/ant-ling")).antLingProvider(),
  },
  azure: {
    name: "Azure",
    keys: ["AZURE_OPENAI_API_KEY"],
    load: async () => (await import("@earendil-works/pi-ai/providers/azure")).azureProvider(),
  },
  baseten: {
    name: "Baseten",
    keys: ["BASETEN_API_KEY"],
    load: async () => (await import("@earendil-works/pi-ai/providers/baseten")).basetenProvider(),
  },
  "cloudflare-ai-gateway": {
    name: "Cloudflare AI Gateway",
    keys: ["CLOUDFLARE_API_KEY", "CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_GATEWAY_ID"],
    load: async () =>
      (
        await import("@earendil-works/pi-ai/providers/cloudflare-ai-gateway")
      ).cloudflareAIGatewayProvider(),
  },
  "cloudflare-workers-ai": {
    name: "Cloudflare Workers AI",
    keys: ["CLOUDFLARE_API_KEY", "CLOUDFLARE_ACCOUNT_ID"],
    load: async () =>
      (
        await import("@earendil-works/pi-ai/providers/cloudflare-workers-ai")
      ).cloudflareWorkersAIProvider(),
  },
  fireworks: {
    name: "Fireworks",
    keys: ["FIREWORKS_API_KEY"],
    load: async () =>
      (await import("@earendil-works/pi-ai/providers/fireworks")).fireworksProvider(),
  },
  "github-copilot": {
    name: "GitHub Copilot",
    keys: ["COPILOT_GITHUB_TOKEN"],
    load: async () =>
      (await import("@earendil-works/pi-ai/providers/github-copilot")).githubCopilotProvider(),
  },
  "google-vertex": {
    name: "Google Vertex AI",
    keys: ["GOOGLE_CLOUD_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"],
    load: async () =>
      (await import("@earendil-works/pi-ai/providers/google-vertex")).googleVertexProvider(),
  },
  huggingface: {
    name: "Hugging Face",
    keys: ["HF_TOKEN"],
    load: async () =>
      (await import("@earendil-works/pi-ai/providers/huggingface")).huggingfaceProvider(),
  },
  "kimi-coding": {
    name: "Kimi For Coding",
    keys: ["KIMI_API_KEY"],
    load: async () =>
      (await import("@earendil-works/pi-ai/providers/kimi-coding")).kimiCodingProvider(),
  },
  meta: {
    name: "Meta",
    keys: ["META_API_KEY"],
    load: async () => (await import("@earendil-works/pi-ai/providers/meta")).metaProvider(),
  },
  minimax: {
    name: "MiniMax",
    keys: ["MINIMAX_API_KEY"],
    load: async () => (await import("@earendil-works/pi-ai/providers/minimax")).minimaxProvider(),
  },
  "minimax-cn": {
    name: "MiniMax CN",
    keys: ["MINIMAX_CN_API_KEY"],
    load: async () =>
      (await import("@earendil-works/pi-ai/providers/minimax-cn")).minimaxCnProvider(),
  },
  "moonshotai-cn": {
    name: "Moonshot AI CN",
    keys: ["MOONSHOT_API_KEY"],
    load: async () =>
      (await import("@earendil-works/pi-ai/providers/moonshotai-cn")).moonshotaiCnProvider(),
  },
  nvidia: {
    name: "NVIDIA",
    keys: ["NVIDIA_API_KEY"],
    load: async () => (await import("@earendil-works/pi-ai/providers/nvidia")).nvidiaProvider(),
  },
  "openai-codex": {
    name: "OpenAI Codex",
    keys: [],
    load: async () =>
      (await import("@earendil-works/pi-ai/providers/openai-codex")).openaiCodexProvider(),
  },
  opencode: {
    name: "OpenCode Zen",
    keys: ["OPENCODE_API_KEY"],
    load: async () => (await import("@earendil-works/pi-ai/providers/opencode")).opencodeProvider(),
  },
  "opencode-go": {
    name: "OpenCode Go",
    keys: ["OPENCODE_API_KEY"],
    load: async () =>
      (await import("@earendil-works/pi-ai/providers/opencode-go")).opencodeGoProvider(),
  },
  "qwen-token-plan": {
    name: "Qwen Token Plan Team",
    keys: ["QWEN_TOKEN_PLAN_TEAM_API_KEY", "QWEN_TOKEN_PLAN_API_KEY"],
    load: async () =>
      (await import("@earendil-works/pi-ai/providers/qwen-token-plan")).qwenTokenPlanProvider(),
  },
  "qwen-token-plan-cn": {
    name: "Qwen Token Plan Team CN",
    keys: ["QWEN_TOKEN_PLAN_TEAM_CN_API_KEY", "QWEN_TOKEN_PLAN_CN_API_KEY"],
    load: async () =>
      (
        await import("@earendil-works/pi-ai/providers/qwen-token-plan-cn")
      ).qwenTokenPlanCnProvider(),
  },
  "qwen-token-plan-individual": {
    name: "Qwen Token Plan Individual",
    keys: ["QWEN_TOKEN_PLAN_INDIVIDUAL_API_KEY", "QWEN_TOKEN_PLAN_API_KEY"],
    load: async () =>
      (
        await import("@earendil-works/pi-ai/providers/qwen-token-plan-individual")
      ).qwenTokenPlanIndividualProvider(),
  },
  "qwen-token-plan-individual-cn": {
    name: "Qwen Token Plan Individual CN",
    keys: ["QWEN_TOKEN_PLAN_INDIVIDUAL_CN_API_KEY", "QWEN_TOKEN_PLAN_CN_API_KEY"],
    load: async () =>
      (
        await import("@earendil-works/pi-ai/providers/qwen-token-plan-individual-cn")
      ).qwenTokenPlanIndividualCnProvider(),
  },
  radius: {
    name: "Radius",
    keys: ["RADIUS_API_KEY"],
    load: async () => (await import("@earendil-works/pi-ai/providers/radius")).radiusProvider(),
  },
  together: {
    name: "Together",
    keys: ["TOGETHER_API_KEY"],
    load: async () => (await import("@earendil-works/pi-ai/providers/together")).togetherProvider(),
  },
  "vercel-ai-gateway": {
    name: "Vercel AI Gateway",
    keys: ["AI_GATEWAY_API_KEY"],
    load: async () =>
      (await import("@earendil-works/pi-ai/providers/vercel-ai-gateway")).vercelAIGatewayProvider(),
  },
  xiaomi: {
    name: "Xiaomi",
    keys: ["XIAOMI_API_KEY"],
    load: async () => (await import("@earendil-works/pi-ai/providers/xiaomi")).xiaomiProvider(),
  },
  "xiaomi-token-plan-ams": {
    name: "Xiaomi Token Plan AMS",
    keys: ["XIAOMI_TOKEN_PLAN_AMS_API_KEY"],
    load: async () =>
      (
        await import("@earendil-works/pi-ai/providers/xiaomi-token-plan-ams")
      ).xiaomiTokenPlanAmsProvider(),
  },
  "xiaomi-token-plan-cn": {
    name: "Xiaomi Token Plan CN",
    keys: ["XIAOMI_TOKEN_PLAN_CN_API_KEY"],
    load: async () =>
      (
        await import("@earendil-works/pi-ai/providers/xiaomi-token-plan-cn")
      ).xiaomiTokenPlanCnProvider(),
  },
  "xiaomi-token-plan-sgp": {
    name: "Xiaomi Token Plan SGP",
    keys: ["XIAOMI_TOKEN_PLAN_SGP_API_KEY"],
    load: async () =>
      (
        await import("@earendil-works/pi-ai/providers/xiaomi-token-plan-sgp")
      ).xiaomiTokenPlanSgpProvider(),
  },
  "zai-coding-cn": {
    name: "Z.AI Coding CN",
    keys: ["ZAI_CODING_CN_API_KEY"],
    load: async () =>
      (await import("@earendil-works/pi-ai/providers/zai-coding-cn")).zaiCodingCnProvider(),
  },
};
