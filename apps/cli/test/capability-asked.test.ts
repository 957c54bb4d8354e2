import { resolve } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { requestOf } from "../src/capability/asked.ts";
import { looksLikeSecret } from "../src/capability/secret-like.ts";
import { UsageError } from "../src/command.ts";
import { commands } from "../src/commands.ts";
import { parse } from "../src/parse.ts";

function asked(...words: string[]) {
  const parsed = parse(["capability", "add", ...words], commands);
  if (parsed.kind !== "run") throw new Error("It was not understood.");
  return requestOf(parsed.input, parsed.input.argument("source"));
}

/** Why the line is not understood. */
function refusalOf(...words: string[]): string {
  try {
    asked(...words);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error(`It was understood: ${words.join(" ")}`);
}

test("[K80] a line says what is attached, in the words of its kind, with paths as they are from anywhere", () => {
  const url = "https://mcp.example.com/mcp";
  expect(asked("mcp", "--url", url, "--name", "work", "--label", "a=b=confirm")).toEqual({
    kind: "mcp",
    config: { url },
    namespace: "work",
    labels: { "a=b": "confirm" },
  });
  expect(asked("mcp", "--env", "API_KEY=MY_KEY", "--", "npx", "-y", "server", "--name=x")).toEqual({
    kind: "mcp",
    config: {
      command: "npx",
      args: ["-y", "server", "--name=x"],
      env: { API_KEY: { secret: "MY_KEY" } },
    },
  });
  expect(
    asked("openapi", "--spec", "api.json", "--secret", "MY_TOKEN", "--header", "X-Api-Key"),
  ).toEqual({
    kind: "openapi",
    config: { spec: resolve("api.json") },
    auth: { type: "header", secret: "MY_TOKEN", header: "X-Api-Key", format: "{}" },
  });
  expect(
    asked("openapi", "--spec", url, "--base-url", url, "--safe-methods", "--oauth", "--scope", "a"),
  ).toEqual({
    kind: "openapi",
    config: { spec: url, baseUrl: url, safeMethods: "read" },
    auth: { type: "oauth", scopes: ["a"] },
    keep: true,
  });
  expect(asked("files", "--root", "notes", "--write", "--grant", "papers")).toEqual({
    kind: "files",
    config: { root: resolve("notes"), mode: "write" },
    grant: "papers",
  });
  expect(asked("skills", "skills", "--description", "how we work")).toEqual({
    kind: "skills",
    config: { dir: resolve("skills") },
    description: "how we work",
  });
  expect(asked("ui", "--keep")).toEqual({ kind: "ui", config: {}, keep: true });
});

/** Made up, in the forms that real ones have. */
const secrets = [
  `ghp_${"aB3".repeat(12)}`,
  `sk-${"a1B2".repeat(10)}`,
  "eyJhbGciOiJIUzI1NiJ9",
  "aB3dE5gH7jK9mN1pQ3rS5t",
  "0123456789abcdef0123456789abcdef",
];

test("[K81] what looks like a secret is refused wherever a name belongs, with what to do, and is never repeated", () => {
  for (const secret of secrets) {
    const lines = [
      ["mcp", "--url", "https://a.example", "--secret", secret],
      ["mcp", "--url", `https://a.example?q=${secret}`],
      ["mcp", "--url", `https://me:${secret}@a.example`],
      ["openapi", "--spec", `https://a.example/${"x"}?access_token=${secret}`],
      [
        "mcp",
        "--url",
        "https://a.example",
        "--secret",
        "A",
        "--header",
        `Authorization: ${secret}`,
      ],
      ["mcp", "--", "server", `--token=${secret}`],
      ["mcp", "--", "server", secret],
      ["mcp", "--env", `KEY=${secret}`, "--", "server"],
    ];
    for (const line of lines) {
      const refusal = refusalOf(...line);
      expect(refusal, line.join(" ")).toContain(".secrets/.env");
      expect(refusal).not.toContain(secret);
    }
  }
});

test("[K81] names of variables, programs, paths and packages are no secrets", () => {
  const plain = [
    ...["GITHUB_PERSONAL_ACCESS_TOKEN_2", "MY_TOKEN", "-y", "npx"],
    ...["@modelcontextprotocol/server-filesystem@2026.1.0", "/home/me/Notes2026/All my things"],
    ...["--transport=streamable-http", "https://mcp.example.com/v1/AbCdEf0123456789aBcDeF"],
  ];
  for (const word of plain) expect(looksLikeSecret(word), word).toBe(false);
  fc.assert(
    fc.property(fc.stringMatching(/^[A-Z][A-Z0-9]{0,20}(_[A-Z0-9]{1,10}){0,5}$/), (name) => {
      fc.pre(!/^(AKIA|ASIA)/.test(name));
      expect(looksLikeSecret(name)).toBe(false);
    }),
  );
});

test("[K80] what does not belong together is refused and named", () => {
  const url = ["--url", "https://a.example"];
  expect(refusalOf("mcp", ...url, "--", "server")).toContain("and not both");
  expect(refusalOf("mcp", ...url, "--oauth", "--secret", "A")).toContain("--oauth excludes");
  expect(refusalOf("mcp", ...url, "--scope", "a")).toContain("belong to --oauth");
  expect(refusalOf("mcp", ...url, "--header", "X-A")).toContain("--header needs --secret");
  expect(refusalOf("mcp", ...url, "--env", "A=B")).toContain("--env is for a program");
  expect(refusalOf("mcp", "--secret", "A", "--", "x")).toContain("--env VARIABLE=SECRET_NAME");
  expect(refusalOf("files", "--root", ".", "--oauth")).toContain("not for files");
  expect(refusalOf("files")).toContain("--root");
  expect(refusalOf("openapi")).toContain("--spec");
  expect(refusalOf("skills")).toContain("<source>");
  expect(refusalOf("openapi", "--spec", "x", "--base-url", "ftp://a")).toContain("http or https");
});
