// A directory for one test, gone after it.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export class TempFolder implements Disposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "lichen-folder-")));

  /** Writes files; the keys are paths below the directory. */
  write(files: Record<string, string>): this {
    for (const [name, content] of Object.entries(files)) {
      const path = join(this.path, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
    }
    return this;
  }

  join(...names: string[]): string {
    return join(this.path, ...names);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export const emptyConfig = "export default {};\n";

export function toolFile(
  body: string,
  imports = 'import { defineTool, z } from "lichen";',
): string {
  return `${imports}\nexport default defineTool({ description: "A tool.", input: z.object({}), ${body} });\n`;
}
