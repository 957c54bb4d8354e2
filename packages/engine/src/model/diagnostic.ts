// One line that says why a run failed, fit for any reader: no secret, no absolute path, 1,024 characters at most.

import { cut } from "@lichen/wire";

const limit = 1_024;

/** `secrets` are values that stood in the request, such as its key. */
export function diagnosticOf(error: unknown, secrets: readonly string[] = []): string {
  let line = textOfError(error);
  for (const secret of secrets)
    if (secret.length >= 6) line = line.replaceAll(secret, "[redacted]");
  line = line
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

function textOfError(error: unknown): string {
  if (typeof error === "string") return error;
  if (error instanceof Error) return error.message || error.name;
  return JSON.stringify(error) ?? "";
}
