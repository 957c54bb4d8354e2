// `router`: handlers by exact path, for programs that need no more than that.

import { text } from "./text.ts";

export type ChannelHandler = (request: Request) => Response | Promise<Response>;
/** Keys are `"/path"` (any method) or `"METHOD /path"`. */
export type Routes = Record<string, ChannelHandler>;

export function router(routes: Routes): ChannelHandler {
  const paths = new Map<string, Map<string, ChannelHandler>>();
  for (const [key, handler] of Object.entries(routes)) {
    const match = /^(?:([A-Z]+) )?(\/\S*)$/.exec(key);
    if (!match) throw new Error(`"${key}" is no route: write "/path" or "METHOD /path".`);
    const [, method = "*", path = "/"] = match;
    const methods = paths.get(path) ?? new Map<string, ChannelHandler>();
    paths.set(path, methods.set(method, handler));
  }
  return (request) => {
    const methods = paths.get(new URL(request.url).pathname);
    if (!methods) return text("not found", 404);
    const handler = methods.get(request.method) ?? methods.get("*");
    return handler ? handler(request) : text("method not allowed", 405);
  };
}
