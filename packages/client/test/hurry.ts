// A platform whose pauses between connections pass at once; what waits for silence waits as ever.

import { type ClientPlatform, webPlatform } from "../src/platform.ts";

export const hurry: ClientPlatform = {
  ...webPlatform,
  after: (ms, wake) => webPlatform.after(ms < 30_000 ? 0 : ms, wake),
};
