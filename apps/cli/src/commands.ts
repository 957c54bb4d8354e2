// The table of commands: what exists, how it is called, and where its program is.

import type { CommandSpec } from "./command.ts";
import { capability } from "./table/capability.ts";
import { folder } from "./table/folder.ts";
import { helping } from "./table/helping.ts";
import { keeping } from "./table/keeping.ts";
import { machine } from "./table/machine.ts";
import { screen } from "./table/screen.ts";
import { serving } from "./table/serving.ts";
import { talking } from "./table/talking.ts";

/** In the order in which help lists them. */
export const commands: readonly CommandSpec[] = [
  ...serving,
  ...screen,
  ...talking,
  ...folder,
  ...capability,
  ...machine,
  ...keeping,
  ...helping,
];
