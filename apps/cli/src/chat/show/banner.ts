// What a person is told while the connection is gone.

import type { View } from "@lichen/client";
import { durationInWords } from "./amounts.ts";
import { cleanLine, fit, wrapped } from "./lines.ts";
import type { Theme } from "./theme.ts";

const maxRows = 3;

/** No lines while there is a connection. `now` is in milliseconds since 1970, as `outage.since` is. */
export function bannerLine(
  outage: View["outage"] | undefined,
  now: number,
  theme: Theme,
  width: number,
): string[] {
  if (!outage) return [];
  const since = durationInWords(Math.floor(Math.max(0, now - outage.since) / 1_000) * 1_000);
  const reason = cleanLine(outage.reason, 200).replace(/[.\s]+$/, "");
  const words = `No connection since ${since}${reason === "" ? "" : ` (${reason})`}. What you send is kept.`;
  return wrapped(words, width)
    .slice(0, maxRows)
    .map((line) => theme.warn(fit(line, width)));
}
