import { mkdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { expect, test } from "vitest";
import { Home, repository } from "./process.ts";

/** An interactive zsh in a terminal of its own gets each line and a Tab; then it shows what it made of it. */
const script = String.raw`
zmodload zsh/zpty || exit 3
zpty inner TERM=dumb zsh -f -i
zpty -w inner 'autoload -U compinit; compinit -u -D; eval "$(lichen completion zsh)"'
zpty -w inner 'shown() { print -r -- "<<$BUFFER>>" }; zle -N shown; bindkey "^X" shown; print READ''Y'
zpty -r inner seen '*READY*'
for line; do
  zpty -w -n inner $'\x15'"$line"$'\t\x18'
  zpty -r inner seen '*<<*>>*'
  print -rn -- "$seen"$'\0'
done
`;

test("[K44] zsh puts words in, values behind = and :, and folders, and lists them with their summaries", async () => {
  await using home = await Home.make();
  await mkdir(home.path("my agent"));
  const model = "amazon-bedrock/anthropic.claude-haiku-4-5-20251001-v1:";
  const made: [string, string][] = [
    ["lichen sta", "lichen start "],
    ["lichen start --mo", "lichen start --model "],
    ["lichen start my", String.raw`lichen start my\ agent/`],
    ["lichen start --state=my", String.raw`lichen start --state=my\ agent/`],
    [`lichen start --model=${model}`, `lichen start --model=${model}0 `],
    ["lichen start --", "lichen start --"],
  ];
  const lines = made.map(([line]) => line);
  const own = join(repository, "node_modules", ".bin");
  const { code, stdout } = await home.run(["-f", "-c", script, "zsh", ...lines], {
    program: ["zsh"],
    env: { LICHEN_COMPLETION_MS: "20000", PATH: [own, process.env["PATH"] ?? ""].join(delimiter) },
  });
  expect(code).toBe(0);
  const seen = stdout.split("\0").slice(0, -1);
  expect(seen.map((text) => /<<(.*)>>/s.exec(text)?.[1])).toEqual(made.map(([, line]) => line));
  expect(seen.at(-1)).toMatch(/--port +-- the port to listen on/);
});
