// What a person does at the keyboard: keys that act, text that is sent, what is pasted.

import { randomUUID } from "node:crypto";
import { Fault, textOf } from "@lichen/wire";
import { printable } from "../printable.ts";
import { pastedData, pastedPath } from "./attachments.ts";
import type { Chat } from "./chat.ts";
import { clipboardImage } from "./clipboard.ts";
import { commandsOf, nextReasoning } from "./commands.ts";
import { completions, finishValue } from "./completions.ts";
import { type Action, actionOf } from "./keys.ts";
import { refusedPaste } from "./pasting.ts";
import { pickModel, pickSession } from "./pickers.ts";
import { suspend } from "./suspend.ts";

const pasteStart = "\u001b[200~";
const pasteEnd = "\u001b[201~";
/** What works while something is chosen from. */
const whileChoosing: ReadonlySet<Action> = new Set(["clear", "redraw", "unfold"]);
/** Within it a second ctrl+c leaves. */
const againMs = 2_000;

export class Typing {
  readonly #chat: Chat;
  #clearedAt = -againMs;
  #isRecalling = false;

  constructor(chat: Chat) {
    this.#chat = chat;
    const { editor, tui } = chat.screen;
    editor.onSubmit = (text) => this.#submit(text, false);
    editor.setAutocompleteProvider(completions(process.cwd(), commandsOf(chat)));
    tui.addInputListener((data) => (this.#take(data) ? { consume: true } : undefined));
  }

  /** Whether the key was meant for the program itself, and is done with. */
  #take(data: string): boolean {
    const chat = this.#chat;
    const { editor, tui } = chat.screen;
    if (data.startsWith(pasteStart)) return this.#paste(data);
    if (chat.choosing === undefined && !chat.asking.hasFocus)
      finishValue(editor, data, commandsOf(chat));
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
        return chat.attempt(async () => this.#pickSession());
      case "new":
        return chat.attempt(() => chat.openNew());
      case "model":
        return chat.attempt(async () => pickModel(chat));
      case "reasoning":
        return chat.attempt(() => nextReasoning(chat));
      case "unfold":
        transcript.isUnfolded = !transcript.isUnfolded;
        return chat.changed();
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

  #pickSession(): void {
    const chat = this.#chat;
    if (chat.only)
      chat.notices.say("A coding agent has one session: `lichen ps` lists those of the others.");
    else pickSession(chat);
  }

  /** What is open goes first, then what is queued, then what runs, then what is told. */
  #stop(): void {
    const chat = this.#chat;
    const { view, following, reach } = chat;
    if (following && view && reach) {
      if (reach.outgoing.isWaiting(following)) return chat.attempt(() => this.#recall());
      const { running } = view;
      if (running) {
        const { commandId } = running;
        return chat.attempt(async () => {
          const requestId = `stop-${randomUUID()}`;
          await following.session.send({ type: "cancel", requestId, commandId });
        });
      }
    }
    if (chat.early.texts.length > 0) return chat.attempt(() => this.#recall());
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
      const known = commandsOf(chat).find((it) => it.name === name);
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
    editor.addToHistory(text);
    chat.attempt(() => this.#send(text.startsWith("//") ? text.slice(1) : text, isQueued));
  }

  async #send(text: string, isQueued: boolean): Promise<void> {
    const chat = this.#chat;
    const { following, view, attachments } = chat;
    if (following?.standing === "deleted") {
      if (chat.only) {
        chat.screen.editor.setText(text);
        throw new Fault("closed", "This session was deleted: nothing more can be said in it.");
      }
      await chat.openNew();
      chat.screen.editor.setText(text);
      chat.notices.say("That session was deleted. This is a new one: enter sends it here.", "warn");
      return;
    }
    const images = attachments.take();
    const joins = !isQueued && view?.running !== undefined;
    const message = { text, images, ...(joins ? { delivery: "steer" as const } : {}) };
    if (chat.early.take(message)) return;
    await chat.send(message);
    chat.screen.scrollToEnd();
  }

  async #recall(): Promise<void> {
    const chat = this.#chat;
    const { following, reach } = chat;
    const { editor } = chat.screen;
    const early = chat.early.takeBack();
    if (early) {
      for (const [at, { data }] of (early.images ?? []).entries())
        chat.attachments.restore(`image ${at + 1}`, data);
      const written = editor.getExpandedText();
      return editor.setText(written === "" ? early.text : `${early.text}\n${written}`);
    }
    if (!following || !reach || this.#isRecalling) return;
    this.#isRecalling = true;
    try {
      const back = await reach.outgoing.takeBack(following);
      if (back === undefined) chat.notices.say("No message waits to be taken back.");
      else if ("reason" in back) chat.notices.say(back.reason, "warn");
      else chat.giveBack(following.session.id, back);
    } finally {
      this.#isRecalling = false;
    }
  }

  /** A pasted image, as its data or its path, is attached; all else is text for whoever has the keys. */
  #paste(data: string): boolean {
    const chat = this.#chat;
    const text = data.slice(
      pasteStart.length,
      data.endsWith(pasteEnd) ? -pasteEnd.length : undefined,
    );
    const refused = refusedPaste(text);
    if (refused !== undefined) {
      chat.notices.say(refused, "warn");
      return true;
    }
    if (chat.choosing !== undefined || chat.asking.hasFocus) return false;
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
        chat.screen.editor.insertTextAtCursor(printable(text));
      }
    });
    return true;
  }
}

/** What a person wrote before in a session, oldest first: for the editor's arrow keys. */
export function writtenIn(chat: Chat): string[] {
  return (chat.view?.items ?? []).flatMap((item) =>
    item.type === "user" ? [textOf(item.text)] : [],
  );
}
