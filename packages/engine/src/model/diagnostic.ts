// One line that says why a run failed, fit for any reader: no secret, no absolute path, 1,024 characters at most.

import { cut, type Json } from "@lichen/wire";

const limit = 1_024;

/** `secrets` are values that stood in the request, such as its key. */
export function diagnosticOf(error: unknown, secrets: readonly string[] = []): string {
  const line = withoutSecrets(inWords(textOfError(error)), secrets)
    .replace(/\s+/g, " ")
    .trim()
    .replace(/\b(bearer|basic)\s+[\w.~+/=-]{6,}/gi, "$1 [redacted]")
    .replace(/\b(?:sk|pk|rk|key|ghp|gho|xai|gsk|AIza|hf|xox[a-z])[-_][\w-]{8,}/g, "[redacted]")
    .replace(/\bAIza[\w-]{16,}/g, "[redacted]")
    .replace(
      /\b(api[-_ ]?key|token|secret|password)(["']?\s*[:=]\s*["']?)[^\s"',;&}]{4,}/gi,
      "$1$2[redacted]",
    )
    .replace(/([?&](?:key|token|api_key|access_token)=)[^\s&]+/gi, "$1[redacted]")
    .replace(/(\/\/)[^\s/@]+:[^\s/@]+@/g, "$1[redacted]@")
    .replace(/file:\/\/\S+/g, "[a file]")
    .replace(/(^|[\s"'(=,[])(?:\/[\w.@+~-]+){2,}\/?(?::\d+)*/g, "$1[a path]")
    .replace(/(^|[\s"'(=,[])[A-Za-z]:\\[^\s"')]+/g, "$1[a path]");
  return cut(line || "It failed without saying why.", limit);
}

/** The text without these values; what is shorter than a secret can be stays. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let left = text;
  for (const secret of secrets)
    if (secret.length >= 6) left = left.replaceAll(secret, "[redacted]");
  return left;
}

/** A refusal that ends in a provider's JSON, with the sentence in it instead; a sentence may be JSON once more. */
function inWords(text: string, depth = 3): string {
  for (const { index } of [...text.slice(0, limit).matchAll(/[{[]/g)].slice(0, 8)) {
    const sentence = sentenceIn(parsed(text.slice(index)));
    if (sentence === undefined) continue;
    return text.slice(0, index) + (depth > 0 ? inWords(sentence, depth - 1) : sentence);
  }
  return text;
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    // It is no JSON, or was cut.
    return undefined;
  }
}

/** Providers write `error.message`, `message`, `error` or `detail`. */
function sentenceIn(value: Json | undefined): string | undefined {
  if (Array.isArray(value)) return sentenceIn(value[0]);
  if (typeof value !== "object" || value === null) return undefined;
  const { error, message, detail } = value;
  const within = sentenceIn(error);
  if (within !== undefined) return within;
  return [message, error, detail]
    .filter((it) => typeof it === "string")
    .find((it) => it.trim() !== "");
}

function textOfError(error: unknown): string {
  if (typeof error === "string") return error;
  if (error instanceof Error) return error.message || error.name;
  return JSON.stringify(error) ?? "";
}
