// Models whose only provider is a scripted one on loopback: the real provider library talks to it.

import { createModels, type Models } from "@lichen/engine";
import type { ScriptedProvider } from "@lichen/engine/testing";

export const scriptedModel = "scripted/one";

export function modelsJsonOf(provider: ScriptedProvider): string {
  return JSON.stringify({
    providers: {
      scripted: {
        baseUrl: `${provider.url}/v1`,
        api: "openai-completions",
        apiKey: "$SCRIPTED_KEY",
        models: [{ id: "one", contextWindow: 100_000, maxTokens: 1_000 }],
      },
    },
  });
}

export function env(name: string): string | undefined {
  return name === "SCRIPTED_KEY" ? "made-up-key" : undefined;
}

export function modelsOf(provider: ScriptedProvider): Models {
  return createModels({ modelsJson: modelsJsonOf(provider), env });
}
