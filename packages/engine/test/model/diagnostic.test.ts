import fc from "fast-check";
import { expect, test } from "vitest";
import { diagnosticOf } from "../../src/index.ts";

test.each([
  ["Invalid key sk-ant-REDACTED given", /sk-ant/],
  ["Authorization: Bearer eyJhbGciOi.abc.def", /eyJ/],
  ['{"api_key": "abcd1234"}', /abcd1234/],
  ["https://x.test/v1?key=abc123&q=1", /abc123/],
  ["https://user:pass@x.test/", /pass/],
  ["ENOENT: no such file, open '/home/me/agent/persona.md'", /\/home|persona/],
  ["at file:///srv/app/index.ts:3:4", /srv/],
  ["in C:\\Users\\me\\agent", /Users/],
  ["secret-of-the-request was refused", /secret-of-the-request/],
])("[E60] %s loses what is nobody's business", (text, hidden) => {
  const line = diagnosticOf(new Error(text), ["secret-of-the-request"]);
  expect(line).not.toMatch(hidden);
  expect(line).toMatch(/\[/);
});

test("[E61] a diagnostic is one line of at most 1,024 characters that keeps addresses and reasons", () => {
  expect(diagnosticOf("429 from https://api.example.com/v1/messages:\n slow down")).toBe(
    "429 from https://api.example.com/v1/messages: slow down",
  );
  fc.assert(
    fc.property(fc.string({ maxLength: 3_000 }), (text) => {
      const line = diagnosticOf(text);
      expect(line.length).toBeLessThanOrEqual(1_024);
      expect(line).not.toMatch(/[\r\n]/);
      expect(line).not.toBe("");
    }),
  );
});

test.each([
  [
    '400: {"type":"error","error":{"type":"x","message":"Could not process image"}}',
    "400: Could not process image",
  ],
  ['m: 400 {"message":"no such\\nmodel","code":7}', "m: 400 no such model"],
  ['{"error":"invalid_request","message":"say more"}', "say more"],
  ['500 {"detail":"gone"}', "500 gone"],
  [
    '[{"error":{"code":400,"message":"{\\n \\"error\\": {\\"message\\": \\"bad key\\"}}"}}]',
    "bad key",
  ],
  ['see [1] and {"error":{"message":"deep"}}', "see [1] and deep"],
  ['{"error":{"code":1}}', '{"error":{"code":1}}'],
  ['cut {"error":{"message":"half', 'cut {"error":{"message":"half'],
  ['{"a":1} behind it', '{"a":1} behind it'],
])("[E66] of %s the sentence is told", (text, line) => {
  expect(diagnosticOf(text)).toBe(line);
});

test("[E66] the sentence in a provider's JSON loses what is nobody's business", () => {
  const line = diagnosticOf('401: {"error":{"message":"Bad key secret-of-the-request"}}', [
    "secret-of-the-request",
  ]);
  expect(line).toBe("401: Bad key [redacted]");
});
