// The scripted provider as a process of its own, for tests of real programs:
//
//   node provider-process.ts SCRIPT.json [--port N] [--requests FILE] [--rules usual|alternating|none]
//
// The script is `{"steps": […], "then": step?}`. The first line on stdout is `{"url": …}`; every request is appended to
// FILE as one line of JSON before it is answered. `POST /gates/NAME` opens a gate; `GET /gates/NAME` answers once an
// answer waits there. It ends on SIGTERM or SIGINT.

import { appendFileSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import * as z from "zod";
import type { ReceivedRequest } from "./received-request.ts";
import { ScriptFile } from "./script.ts";
import { startScriptedProvider } from "./scripted-provider.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    port: { type: "string", default: "0" },
    requests: { type: "string" },
    rules: { type: "string", default: "usual" },
  },
});
const [file] = positionals;
if (file === undefined) throw new Error("Name the file that holds the script.");
const { steps, then } = ScriptFile.parse(JSON.parse(readFileSync(file, "utf8")));

const provider = await startScriptedProvider({
  script: steps,
  otherwise: then,
  port: z.coerce.number().int().min(0).max(65_535).parse(values.port),
  rules: z.enum(["usual", "alternating", "none"]).parse(values.rules),
  onRequest: record,
});
console.log(JSON.stringify({ url: provider.url }));
for (const signal of ["SIGTERM", "SIGINT"] as const)
  process.once(signal, () => void provider.close().then(() => process.exit(0)));

function record({ number, wire, headers, body }: ReceivedRequest): void {
  if (values.requests === undefined) return;
  appendFileSync(values.requests, `${JSON.stringify({ number, wire, headers, body })}\n`);
}
