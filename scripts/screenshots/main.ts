// Takes the pictures of the terminal in docs/: the real `lichen chat` with a real host, in a real terminal, and a
// scripted model. `npm run screenshots`; it needs tmux. The same code gives the same bytes.

import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startScriptedProvider } from "lichen/testing";
import { openChat } from "../../apps/cli/test/chat.ts";
import { StartedHost } from "../../apps/cli/test/host.ts";
import { Home, repository } from "../../apps/cli/test/process.ts";
import { scenes, script } from "./scenes.ts";
import { dark, light, picture } from "./svg.ts";

/** How long a call took, behind its headline. Only slow ones say so, and never the same twice. */
const took = / · \d+(?:\.\d)? s(?=\W|$)/;
const mostTakes = 5;

for (let take = 1; ; take++) {
  const pictures = await takePictures();
  if (pictures === undefined) {
    if (take < mostTakes) continue;
    throw new Error(
      `A tool call was slow in all of ${take} takes: try again on a quieter computer.`,
    );
  }
  for (const { path, drawn } of pictures) {
    await writeFile(join(repository, path), drawn);
    console.log(path);
  }
  break;
}

/** Undefined where a call was so slow that the screen says how long it took. */
async function takePictures(): Promise<{ path: string; drawn: string }[] | undefined> {
  await using home = await Home.make();
  const provider = await startScriptedProvider({ script });
  await using _end = { [Symbol.asyncDispose]: () => provider.close() };
  const dir = await notesFolder(home, provider.url);
  await StartedHost.start(home, dir);
  const pictures: { path: string; drawn: string }[] = [];
  for (const { name, describe, session, look, cols, rows, play } of scenes) {
    await using chat = await openChat(home, dir, { session, cols, rows, args: ["--theme", look] });
    await chat.until("quill");
    await play(chat);
    await chat.untilGone("sending: ");
    await chat.until(/^context \d+%/m);
    const lines = await chat.styled();
    if (lines.some((line) => took.test(line))) return undefined;
    const colours = look === "dark" ? dark : light;
    const drawn = picture(lines, { cols, look: colours, title: "lichen chat", describe });
    pictures.push({ path: `docs/terminal-${name}.svg`, drawn });
  }
  return pictures;
}

/** A copy of the notes example with two notes, whose model is the scripted one. */
async function notesFolder(home: Home, url: string): Promise<string> {
  const dir = home.path("notes");
  await cp(join(repository, "examples/notes"), dir, {
    recursive: true,
    filter: (path) => !/\/(?:notes\/notes|\.lichen|\.secrets)$/.test(path),
  });
  await mkdir(join(dir, "notes"));
  await writeFile(join(dir, "notes/draft.md"), "# Draft\n\nA soup. Lentils? Ask Ada.\n");
  await writeFile(join(dir, "notes/market.md"), "# Market\n\nOn Saturday: carrots, lemons.\n");
  const local = {
    baseUrl: `${url}/v1`,
    api: "openai-completions",
    apiKey: "made-up",
    models: [{ id: "quill", reasoning: true, contextWindow: 32_000 }],
  };
  await writeFile(join(dir, "models.json"), JSON.stringify({ providers: { local } }));
  return dir;
}
