// What may be told of what a harness wrote to stderr: one useful line, without the secrets that it was given.

import { Redactor } from "@lichen/capability";
import { diagnosticOf } from "../model/diagnostic.ts";
import type { HarnessOptions } from "./port.ts";
import type { ProcessEnding } from "./process.ts";

const shownCharacters = 300;
const secretName = /key|token|secret|passw|auth|credential|signature/i;
const shortestSecret = 6;
/** A value of an address that is so long names something that only some may reach. */
const longValue = 20;
// Stack frames, source excerpts and Node's own notes say nothing to whoever reads them.
const useless = /^(at |node:|\s*\^|\(node:|\(Use `node|Node\.js v|throw |\}|\{|Warning:)/;
const telling =
  /error|cannot|can't|not found|denied|invalid|failed|fatal|unknown|refus|unable|must/i;

/** How a process ended, in one line: for `harness.stopped` and diagnostics. */
export function endingOf(
  { code, signal }: ProcessEnding,
  stderr: string,
  { command, env }: Pick<HarnessOptions, "command" | "env">,
): string {
  const name = command[0] ?? "it";
  if (code === 127) return `${name} is not there: install it, or correct its command`;
  if (code === 126) return `${name} may not be executed`;
  if (code === 0) return "finished";
  const how = code === null ? `killed by ${signal ?? "nobody known"}` : `ended with code ${code}`;
  const words = usefulLine(stderr, env);
  return words === undefined ? how : `${how}: ${words}`;
}

/** The line of stderr that says most, bounded and without secrets. */
function usefulLine(stderr: string, env: Readonly<Record<string, string>>): string | undefined {
  const secrets = secretsOf(env);
  const lines = new Redactor(secrets)
    .lastOf(stderr, 16_000)
    // oxlint-disable-next-line no-control-regex -- colours of terminals are what is taken out
    .replace(/\u001b\[[0-9;]*[A-Za-z]/g, "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !useless.test(line));
  const line = lines.findLast((one) => telling.test(one)) ?? lines.at(-1);
  if (line === undefined) return undefined;
  return diagnosticOf(withoutLogins(line), secrets).slice(0, shownCharacters);
}

/** What of an environment nobody is to read: values with the name of a secret, and what stands in its addresses. */
export function secretsOf(env: Readonly<Record<string, string>>): string[] {
  const secrets = Object.entries(env).flatMap(([name, value]) => [
    ...(secretName.test(name) ? [value] : []),
    ...secretsInAddresses(value),
  ]);
  return [...new Set(secrets)].filter((secret) => secret.length >= shortestSecret);
}

/** `scheme://user:password@`, `scheme://token@`, `?token=…`, as they stand there and as they are read. */
function secretsInAddresses(text: string): string[] {
  const found = [...text.matchAll(/[a-z][a-z0-9+.-]*:\/\/(?:([^\s/?#]*)@)?[^\s,]*/gi)];
  return found.flatMap(([address, login]) => {
    const [user = "", ...password] = login?.split(":") ?? [];
    const ofLogin = password.length > 0 ? [login ?? "", password.join(":")] : [user];
    const inQuery = [...address.matchAll(/[?&#;]([^=&#;]+)=([^&#;]+)/g)].flatMap(
      ([, name = "", value = ""]) =>
        secretName.test(name) || value.length >= longValue ? [value] : [],
    );
    return [...ofLogin, ...inQuery].flatMap((secret) => [secret, decoded(secret)]);
  });
}

/** Logins in addresses, whether they came from the environment or not. */
function withoutLogins(line: string): string {
  return line.replace(/([a-z][a-z0-9+.-]*:\/\/)[^\s/?#@]+@/gi, "$1[redacted]@");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // It stands there as it is.
    return text;
  }
}
