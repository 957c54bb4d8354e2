// The conformance kit of the protocol's authors, against our connector and our sign-in: what each revision requires of a
// client, frozen at its release.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { temporary } from "../servers.ts";

const kit = join(
  import.meta.dirname,
  "../../../../../node_modules/@modelcontextprotocol/conformance/dist/index.js",
);
const client = join(import.meta.dirname, "client.ts");
const gate = join(import.meta.dirname, "gate.mjs");

/** Scenarios that do not pass whole, and why they cannot apply. */
const leftOut: Readonly<Record<string, string>> = {
  "auth/basic-cimd":
    "All its checks pass but one piece of advice: to be known by a document at a public address, which a program on a person's computer does not have. It registers itself.",
  "auth/client-credentials-jwt":
    "An extension, not required: a client that signs with a key of its own is not offered.",
  "auth/enterprise-managed-authorization":
    "An extension, not required: identity providers of enterprises are not offered.",
  "auth/dpop": "An extension, not required: tokens that are bound to a key are not offered.",
  "auth/dpop-nonce": "An extension, not required: tokens that are bound to a key are not offered.",
  "auth/wif-jwt-bearer": "An extension, not required: identities of workloads are not offered.",
};

it.each([
  ["2025-11-25", 18],
  ["2026-07-28", 32],
])(
  "[M17] the kit's client scenarios of %s pass",
  { timeout: 240_000 },
  async (revision, required) => {
    const home = await temporary();
    const command = `${process.execPath} ${gate} ${client}`;
    const { output } = await promisify(execFile)(
      process.execPath,
      [kit, "client", "--command", command, "--requirements", revision, "--timeout", "200000"],
      {
        cwd: home,
        env: {
          PATH: process.env["PATH"],
          HOME: home,
          // One client is started for each scenario.
          NODE_COMPILE_CACHE: join(home, "compiled"),
        },
        maxBuffer: 64 * 1024 * 1024,
        timeout: 230_000,
      },
    ).then(
      ({ stdout, stderr }) => ({ output: stdout + stderr }),
      // It ends with 1 where anything is left out.
      (error: { stdout: string; stderr: string }) => ({ output: error.stdout + error.stderr }),
    );
    const summary = output.slice(output.indexOf("=== SUITE SUMMARY ==="));
    const ran = [...summary.matchAll(/^([✓✗]) (\S+): \d+ passed, \d+ failed.*$/gm)].map(
      ([line, mark, name = ""]) => ({ name, passed: mark === "✓", line }),
    );
    expect(ran.length, output.slice(-2_000)).toBeGreaterThanOrEqual(required);
    const failed = ran.filter(({ passed }) => !passed);
    expect(failed.filter(({ name }) => !(name in leftOut)).map(({ line }) => line)).toEqual([]);
    // What passes by now is left out no more.
    expect(failed.map(({ name }) => name).toSorted()).toEqual(Object.keys(leftOut).toSorted());
    // The advice is no failure.
    expect(failed.find(({ name }) => name === "auth/basic-cimd")?.line).toContain(" 0 failed");
  },
);
