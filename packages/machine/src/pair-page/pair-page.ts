// The page that a paired device opens: static files of this folder, for whoever reaches the machine. It holds nothing of
// the machine; what it shows it asks for with the device's own credential.
//
//   DV40  It loads nothing but itself, runs no script but its own and stands in no other page.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { guardedHeaders, type Mount, pathOf, wrongMethod } from "@lichen/server/door";
import { Fault } from "@lichen/wire";
import { refuse } from "../routes/route.ts";

const types: Readonly<Record<string, { readonly file: string; readonly type: string }>> = {
  "/pair": { file: "page.html", type: "text/html; charset=utf-8" },
  "/pair/page.css": { file: "page.css", type: "text/css; charset=utf-8" },
  "/pair/page.js": { file: "page.js", type: "text/javascript; charset=utf-8" },
};

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
  "form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

export function pairPage(): Mount {
  return {
    prefix: "pair",
    isOpen: true,
    refuse,
    drain: () => {},
    run: async ({ method, url }) => {
      const path = pathOf(url);
      const found = Object.hasOwn(types, path) ? types[path] : undefined;
      if (!found) throw new Fault("unknown_route", "There is no such page on this machine.");
      if (method !== "GET" && method !== "HEAD") return wrongMethod(method, ["GET"]);
      return new Response(await readFile(join(import.meta.dirname, found.file)), {
        headers: {
          ...guardedHeaders,
          "content-type": found.type,
          "content-security-policy": policy,
        },
      });
    },
  };
}
