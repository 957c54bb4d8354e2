// The chat: one agent's sessions, of which one is shown, followed and written to.
//
//   Everything goes through the client, whether its host runs elsewhere, on this computer or in this process.

import { randomUUID } from "node:crypto";
import type { Agent, Client, Session, View } from "@lichen/client";
import { Fault } from "@lichen/wire";
import { Asking } from "./asking.ts";
import { Attachments } from "./attachments.ts";
import type { Directory } from "./directory.ts";
import { Following } from "./following.ts";
import { Notices } from "./notices.ts";
import type { Outgoing } from "./outgoing.ts";
import { decisionPanel, type AnswerTo } from "./panel/decision.ts";
import type { Panel } from "./panel/panel.ts";
import { questionPanel } from "./panel/questions.ts";
import type { ModelInUse } from "./model-in-use.ts";
import { depthOf } from "./looks.ts";
import type { Screen } from "./screen.ts";
import type { Seen } from "./seen.ts";
import { type ThemeName, themeOf } from "./show/theme.ts";

/** What a chat works with; there once the agent is reached. */
export interface Reach {
  readonly client: Client;
  readonly agent: Agent;
  readonly name: string;
  readonly outgoing: Outgoing;
  readonly seen: Seen;
  readonly directory: Directory;
}

export class Chat {
  readonly screen: Screen;
  readonly notices: Notices;
  readonly attachments = new Attachments();
  readonly leaving = Promise.withResolvers<void>();
  readonly asking: Asking;
  #reach: Reach | undefined;
  #following: Following | undefined;
  /** What is chosen from; stands before a question. */
  #choosing: Panel | undefined;
  #isStale = false;
  /** Why the session cannot be followed, as it was told. */
  #refusal: string | undefined;
  /** What a person had begun to write in a session that is not shown. */
  readonly #drafts = new Map<string, string>();

  readonly #model: ModelInUse;

  constructor(makeScreen: (chat: Chat) => Screen, model: ModelInUse) {
    this.#model = model;
    this.notices = new Notices(() => this.changed());
    this.asking = new Asking({
      panel: (approval, show) => {
        const options = {
          tui: this.screen.tui,
          theme: this.screen.theme,
          rows: () => this.screen.rows,
          answer: (answer: AnswerTo) => this.#answer(approval.approvalId, answer),
          show,
          leave: () => this.asking.leave(),
          other: (data: string) => this.#typed(data),
        };
        return approval.kind === "question"
          blob: async (sha256: string) => (await this.#mustFollow().session.blob(sha256))?.bytes,
          ? questionPanel(approval, options)
          : decisionPanel(approval, options);
      },
      isTyping: () => this.screen.editor.getText() !== "",
      changed: () => this.#place(),
    });
    this.screen = makeScreen(this);
  }

  /** Undefined until the agent is reached. */
  get reach(): Reach | undefined {
    return this.#reach;
  }

  get following(): Following | undefined {
    return this.#following;
  }

  get view(): View | undefined {
    return this.#following?.view;
  }

  get choosing(): Panel | undefined {
    return this.#choosing;
  }

  /** The agent is reached: shows this session. */
  begin(reach: Reach, session: string): void {
    this.#reach = reach;
    reach.outgoing.subscribe((event) => {
      if (event.type === "sent" && event.item.session === this.#following?.session.id) {
        // A session that was deleted begins anew.
        if (this.#following.standing === "deleted") this.open(event.item.session);
        else this.#following.begin();
      }
      if (event.type === "set_aside")
        this.notices.say(
          `A message was refused: ${event.item.reason?.message ?? "no reason was given"} ` +
            "alt+up takes it back into the editor, /retry sends it again.",
          "error",
        );
      this.changed();
    });
    for (const { session: where, reason } of reach.outgoing.refusedElsewhere(session))
      this.notices.say(
        `A message to session ${where} was refused: ${reason?.message ?? ""} Go there to see it.`,
        "warn",
      );
    this.open(session);
  }

  /** Shows another session, with what was begun in it. */
  open(session: string): void {
    const { agent, seen } = this.#mustReach();
    const before = this.#following;
    if (before?.session.id === session && before.standing !== "deleted")
      return this.choose(undefined);
    if (before) {
      this.#drafts.set(before.session.id, this.screen.editor.getExpandedText());
      if (before.view) seen.mark(before.session.id, before.view.session.head);
      void before.close();
    }
    this.#following = new Following(agent.session(session), () => this.changed());
    this.screen.transcript.clear();
    this.screen.scrollToEnd();
    if (before) this.screen.editor.setText(this.#drafts.get(session) ?? "");
    this.asking.update(undefined);
    this.choose(undefined);
    this.changed();
  }

  openNew(): void {
    this.open(newSession());
  }

  /** Shows a panel to choose from, or none any more. */
  choose(panel: Panel | undefined): void {
    this.#choosing = panel;
    this.#place();
  }

  /** Something is other than it is shown: drawn once, however much changes together. */
  changed(): void {
    if (this.#isStale) return;
    this.#isStale = true;
    setImmediate(() => {
      this.#isStale = false;
      const { view } = this;
      if (view) {
        this.screen.transcript.show(view);
        this.#reach?.seen.mark(view.session.session, view.session.head);
      }
      const refusal = this.#following?.refusal;
      if (refusal !== this.#refusal && refusal !== undefined) this.notices.say(refusal, "error");
      this.#refusal = refusal;
      this.asking.update(view);
      this.screen.draw();
    });
  }

  /** Older entries come in above what is shown. */
  async loadEarlier(): Promise<void> {
    const following = this.#following;
    if (following?.view?.more !== true || following.isLoading) return;
    const { transcript } = this.screen;
    const [first] = following.view.items;
    const before = first && transcript.lineOf(first.seq);
    try {
      await following.loadEarlier();
    } catch (error) {
      // Scrolling asks again.
      if (Fault.is(error)) return;
      throw error;
    }
    if (this.#following !== following || first === undefined || before === undefined) return;
    transcript.show(following.view);
    this.screen.grow((transcript.lineOf(first.seq) ?? before) - before);
  }

  /** Does what may be refused; a refusal is told. */
  attempt(work: () => Promise<unknown>): void {
    const told = async () => {
      try {
        await work();
      } catch (error) {
        this.notices.sayError(error);
      }
      this.changed();
    };
    void told();
  }

  /** The settings of the session; made by them, where it does not exist yet. */
  async set(changes: Parameters<Session["change"]>[0]): Promise<void> {
    const following = this.#mustFollow();
    const { agent } = this.#mustReach();
    const { session } = following;
    if (following.view !== undefined) {
      await session.change(changes);
      return;
    }
    await agent.create({ requestId: `create-${randomUUID()}`, session: session.id, ...changes });
    following.begin();
  }

  /** Another model, with a level that it takes. */
  async setModel(model: string): Promise<void> {
    const levels = (await this.#model.find(model))?.reasoning;
    const now = this.view?.session.reasoning;
    const isRefused = now !== undefined && levels !== undefined && !levels.includes(now);
    await this.set({ model, ...(isRefused ? { reasoning: "off" } : {}) });
  }

  /** The levels of reasoning that the session's model takes, least first. */
  levels() {
    return this.#model.levels(this.view?.session);
  }

  get reasoning() {
    return this.#model.reasoningOf(this.view?.session);
  }

  setTheme(name: ThemeName): void {
    this.screen.theme = themeOf(name, depthOf(process.env));
  }

  leave(): void {
    this.leaving.resolve();
  }

  async close(): Promise<void> {
    const { view } = this;
    if (view) this.#reach?.seen.mark(view.session.session, view.session.head);
    await this.#following?.close();
    await this.#reach?.directory.close();
    await this.#reach?.outgoing.close();
    await this.#reach?.seen.saved();
  }

  async #answer(approvalId: string, answer: AnswerTo): Promise<void> {
    const { session } = this.#mustFollow();
    const requestId = `answer-${randomUUID()}`;
    try {
      const receipt = await session.send({ type: "answer", requestId, approvalId, ...answer });
      if (receipt.status === "too_late")
        this.notices.say("That was decided already; your answer changed nothing.", "warn");
    } catch (error) {
      this.notices.sayError(error);
      throw error;
    } finally {
      this.changed();
    }
  }

  /** A key that a question has no use for: a person writes a message. */
  #typed(data: string): void {
    this.asking.leave();
    this.screen.editor.handleInput(data);
  }

  #place(): void {
    const panel = this.#choosing ?? this.asking.panel;
    const isFocused = this.#choosing !== undefined || this.asking.hasFocus;
    this.screen.show(panel, isFocused ? "panel" : "editor");
  }

  #mustReach(): Reach {
    if (this.#reach) return this.#reach;
    throw new Fault("unavailable", "The agent is not reached yet: a moment.");
  }

  #mustFollow(): Following {
    if (this.#following) return this.#following;
    throw new Fault("unavailable", "The agent is not reached yet: a moment.");
  }
}

export function newSession(): string {
  return `chat-${randomUUID()}`;
}
