import { expect, test } from "vitest";
import { endingOf, secretsOf } from "../../src/harness/last-words.ts";

const env = {
  HTTPS_PROXY: "http://me:p%40ssw0rd@proxy.example:3128",
  NO_PROXY: "localhost,127.0.0.1",
  SOME_BASE_URL: "https://models.example/v1?token=canary-in-query&version=2024-01-01",
  OTHER_BASE_URL: "https://canary-as-user@models.example/v1",
  PLACES: "a=https://one.example/?q=1,https://x:canary-in-list@two.example",
  API_KEY: "canary-by-name",
};

function told(stderr: string): string {
  return endingOf({ code: 2, signal: null }, stderr, { command: ["agent"], env });
}

test("[HK14] no login and no token of an address in the environment is told, as it stands there or as it is read", () => {
  for (const secret of [
    "p%40ssw0rd",
    "p@ssw0rd",
    "canary-in-query",
    "canary-as-user",
    "canary-in-list",
    "canary-by-name",
  ]) {
    const words = told(`Error: cannot use ${secret}`);
    expect(words).toContain("Error: cannot use");
    expect(words).not.toContain(secret);
  }
  expect(told(`Error: cannot reach ${env.HTTPS_PROXY}`)).toMatch(/proxy\.example:3128$/);
  expect(secretsOf(env)).not.toContain("2024-01-01");
});

test("[HK14] a login in an address is told as little where nobody knew of it", () => {
  const words = told("Error: failed to fetch https://someone:hunter2@git.example/a.git");
  expect(words).toBe(
    "ended with code 2: Error: failed to fetch https://[redacted]@git.example/a.git",
  );
  expect(told("Error: denied by https://tok@git.example/a")).not.toContain("tok@");
});
