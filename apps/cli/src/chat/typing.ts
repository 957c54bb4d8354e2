// What a person does at the keyboard: keys that act, text that is sent, what is pasted.

import { randomUUID } from "node:crypto";
import { CombinedAutocompleteProvider } from "@earendil-works/pi-tui";
import { textOf } from "@lichen/wire";
import { pastedData, pastedPath } from "./attachments.ts";
import type { Chat } from "./chat.ts";
import { clipboardImage } from "./clipboard.ts";
import { nextReasoning, slashCommands } from "./commands.ts";
import { type Action, actionOf } from "./keys.ts";
import { pickModel, pickSession } from "./pickers.ts";

const pasteStart = "\u001b[200~";
const pasteEnd = "\u001b[201~";
/** What works while something is chosen from. */
const whileChoosing: ReadonlySet<Action> = new Set(["clear", "redraw", "unfold"]);
/** Within it a second ctrl+c leaves. */
const againMs = 2_000;

export class Typing {
  readonly #chat: Chat;
  #clearedAt = -againMs;

  constructor(chat: Chat) {
    this.#chat = chat;
    const { editor, tui } = chat.screen;
    editor.onSubmit = (text) => this.#submit(text, false);
    editor.setAutocompleteProvider(
      new CombinedAutocompleteProvider(slashCommands.map(completed), process.cwd()),
    );
    tui.addInputListener((data) => (this.#take(data) ? { consume: true } : undefined));
  }

  /** Whether the key was meant for the program itself, and is done with. */
  #take(data: string): boolean {
    const chat = this.#chat;
    const { editor, tui } = chat.screen;
    if (data.startsWith(pasteStart)) return this.#paste(data);
    const action = actionOf(data);
    if (action === undefined) return false;
    if (action === "clear" && tui.hasActiveSelection()) return false;
    // What is open has its own escape, enter and tab.
    if (chat.choosing !== undefined && !whileChoosing.has(action)) return false;
    if (chat.asking.hasFocus && (action === "stop" || action === "answer")) return false;
    const isCompleting = editor.isShowingAutocomplete();
    if (isCompleting && (action === "stop" || action === "answer")) return false;
    if ((action === "answer" || action === "leave") && editor.getText() !== "") return false;
    this.#do(action);
    return true;
  }

  #do(action: Action): void {
    const chat = this.#chat;
    const { editor, tui, transcript } = chat.screen;
    switch (action) {
      case "stop":
        return this.#stop();
      case "queue":
        return this.#submitEditor();
      case "recall":
        return chat.attempt(() => this.#recall());
      case "sessions":
        return chat.attempt(async () => pickSession(chat));
      case "new":
        return chat.attempt(async () => chat.openNew());
      case "model":
        return chat.attempt(async () => pickModel(chat));
      case "reasoning":
        return chat.attempt(() => nextReasoning(chat));
      case "unfold":
        transcript.isUnfolded = !transcript.isUnfolded;
        return chat.screen.draw();
      case "image":
        return chat.attempt(async () => {
          chat.attachments.add("the clipboard", await clipboardImage());
        });
      case "answer":
        if (!chat.asking.focus()) chat.notices.say("Nothing is asked.");
        return;
      case "clear":
        return this.#clear();
      case "leave":
        return chat.leave();
      case "suspend":
        return suspend(chat);
      case "redraw":
        editor.invalidate();
        return tui.requestRender(true);
    }
  }

  /** What is open goes first, then what is queued, then what runs, then what is told. */
  #stop(): void {
    const chat = this.#chat;
    const { view, following, reach } = chat;
    if (following && view && reach) {
      if (reach.outgoing.lines(following.session.id, view).length > 0)
        return chat.attempt(() => this.#recall());
      const { running } = view;
      if (running) {
        const { commandId } = running;
        return chat.attempt(async () => {
          const requestId = `stop-${randomUUID()}`;
          await following.session.send({ type: "cancel", requestId, commandId });
        });
      }
    }
    chat.notices.dismiss();
  }

  #clear(): void {
    const chat = this.#chat;
    const { editor } = chat.screen;
    if (chat.choosing) return chat.choose(undefined);
    const isAgain = performance.now() - this.#clearedAt < againMs;
    if (isAgain) return chat.leave();
    this.#clearedAt = performance.now();
    if (editor.getText() !== "") return editor.setText("");
    chat.notices.say("ctrl+c once more leaves; what runs goes on with its host.");
  }

  #submitEditor(): void {
    const { editor } = this.#chat.screen;
    const text = editor.getExpandedText();
    editor.setText("");
    this.#submit(text, true);
  }

  #submit(typed: string, isQueued: boolean): void {
    const chat = this.#chat;
    const { editor } = chat.screen;
    const text = typed.trim();
    if (text === "" && chat.attachments.all.length === 0) return;
    chat.notices.dismiss();
    const command = /^\/([a-z]+)(?:\s+(.*))?$/s.exec(text);
    if (command) {
      const [, name = "", argument = ""] = command;
      const known = slashCommands.find((it) => it.name === name);
      if (known === undefined) {
        editor.setText(typed);
        chat.notices.say(
          `There is no command /${name}: /help lists them, //${name} sends it as text.`,
          "warn",
        );
        return;
      }
      editor.addToHistory(text);
      return chat.attempt(async () => known.run(chat, argument.trim()));
    }
    chat.attempt(async () => {
      try {
        await this.#send(text.startsWith("//") ? text.slice(1) : text, isQueued);
        editor.addToHistory(text);
      } catch (error) {
        // What could not be kept is still to be written.
        if (editor.getText() === "") editor.setText(typed);
        throw error;
      }
    });
  }

  async #send(text: string, isQueued: boolean): Promise<void> {
    const chat = this.#chat;
    const { following, reach, view } = chat;
    if (!following || !reach) throw new Error("The agent is not reached yet: a moment.");
    const images = chat.attachments.take();
    const joins = !isQueued && view?.running !== undefined;
    try {
      await reach.outgoing.send(following.session.id, {
        text,
        images,
        ...(joins ? { delivery: "steer" } : {}),
      });
    } catch (error) {
      for (const { name, data } of images) chat.attachments.add(name, data);
      throw error;
    }
    chat.screen.scrollToEnd();
  }

  async #recall(): Promise<void> {
    const chat = this.#chat;
    const { following, reach } = chat;
    if (!following || !reach) return;
    const back = await reach.outgoing.takeBack(following);
    if (back === undefined) return chat.notices.say("No message waits to be taken back.");
    if ("reason" in back) return chat.notices.say(back.reason, "warn");
    const { editor } = chat.screen;
    const written = editor.getExpandedText();
    editor.setText(written === "" ? back.text : `${back.text}\n${written}`);
    for (const [at, { data }] of back.images.entries())
      chat.attachments.add(`image ${at + 1}`, data);
  }

  /** A pasted image, as its data or its path, is attached; all else is text for whoever has the keys. */
  #paste(data: string): boolean {
    const chat = this.#chat;
    if (chat.choosing !== undefined || chat.asking.hasFocus) return false;
    const text = data.slice(
      pasteStart.length,
      data.endsWith(pasteEnd) ? -pasteEnd.length : undefined,
    );
    const bytes = pastedData(text);
    if (bytes) {
      chat.attempt(async () => void chat.attachments.add("the pasted image", bytes));
      return true;
    }
    const path = pastedPath(text, process.cwd());
    if (path === undefined) return false;
    chat.attempt(async () => {
      try {
        await chat.attachments.addFile(path);
      } catch {
        // No image of this computer: then it is text like any other.
        chat.screen.editor.insertTextAtCursor(text);
      }
    });
    return true;
  }
}

/** Gives the terminal back to the shell until that says to go on. */
function suspend(chat: Chat): void {
  const { tui } = chat.screen;
  tui.stop({ preserveScreen: true });
  process.once("SIGCONT", () => {
    tui.start();
    tui.requestRender(true);
  });
  // The launcher, where there is one, stops too: else the shell would wait for it.
  process.kill(0, "SIGTSTP");
}

function completed({ name, says, argument, values }: (typeof slashCommands)[number]) {
  return {
    name,
    description: says,
    ...(argument === undefined ? {} : { argumentHint: argument }),
    ...(values === undefined
      ? {}
      : {
          getArgumentCompletions: (prefix: string) =>
            values
              .filter((value) => value.startsWith(prefix))
              .map((value) => ({ value, label: value })),
        }),
  };
}

/** What a person wrote before in a session, oldest first: for the editor's arrow keys. */
export function writtenIn(chat: Chat): string[] {
  return (chat.view?.items ?? []).flatMap((item) =>
    item.type === "user" ? [textOf(item.text)] : [],
  );
}
