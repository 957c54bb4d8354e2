// The chat: one agent's sessions, of which one is shown, followed and written to.
//
//   Everything goes through the client, whether its host runs elsewhere, on this computer or in this process.

import { randomUUID } from "node:crypto";
import type { Agent, Client, Session, View } from "@lichen/client";
import { Fault, type SessionInfo } from "@lichen/wire";
import { oneLine } from "../printable.ts";
import { Asking } from "./asking.ts";
import type { Attachments } from "./attachments.ts";
import type { Directory } from "./directory.ts";
import { Drafts } from "./drafts.ts";
import { Earlier } from "./earlier.ts";
import { Early } from "./early.ts";
import { Following } from "./following.ts";
import { Notices } from "./notices.ts";
import type { Message, Outgoing } from "./outgoing.ts";
import { decisionPanel, type AnswerTo } from "./panel/decision.ts";
import { Gone } from "./panel/gone.ts";
import type { Panel } from "./panel/panel.ts";
import { questionPanel } from "./panel/questions.ts";
import type { ModelInUse } from "./model-in-use.ts";
import { depthOf } from "./looks.ts";
import type { Screen } from "./screen.ts";
import type { Seen } from "./seen.ts";
import { WholeTexts } from "./whole-texts.ts";
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

/** Of an agent that has one session: others are not to be chosen, made or left. */
export interface OnlySession {
  /** Begins the conversation in it anew. */
  renew(): Promise<void>;
}

export class Chat {
  readonly only: OnlySession | undefined;
  readonly screen: Screen;
  readonly notices: Notices;
  readonly leaving = Promise.withResolvers<void>();
  readonly asking: Asking;
  /** What was sent before the agent was reached. */
  readonly early = new Early();
  #reach: Reach | undefined;
  #following: Following | undefined;
  /** What is chosen from; stands before a question. */
  #choosing: Panel | undefined;
  #isStale = false;
  /** Why the session is followed no more, as it was told. */
  #trouble: string | undefined;
  readonly #drafts = new Drafts();
  /** What sessions are to be called that are only just beginning. */
  readonly #titles = new Map<string, string>();
  #texts = new WholeTexts(
    async () => undefined,
    () => undefined,
  );
  readonly #earlier = new Earlier(this);
  /** The session that has no message yet: what is begun in it is found again. */
  #fresh: string | undefined;
  /** What the host told last of a session that was not there. */
  #rumour: SessionInfo | undefined;
  readonly #model: ModelInUse;

  constructor(makeScreen: (chat: Chat) => Screen, model: ModelInUse, only?: OnlySession) {
    this.#model = model;
    this.only = only;
    this.notices = new Notices(() => this.changed());
    this.asking = new Asking({
      panel: (approval, show) => {
        const options = {
          tui: this.screen.tui,
          theme: this.screen.theme,
          rows: () => this.screen.rows,
          answer: (answer: AnswerTo) => this.#answer(approval.approvalId, answer),
          blob: async (sha256: string) => (await this.#mustFollow().session.blob(sha256))?.bytes,
          show,
          leave: () => this.asking.leave(),
          other: (data: string) => this.#typed(data),
        };
        return approval.kind === "question"
          ? questionPanel(approval, options)
          : decisionPanel(approval, options);
      },
      gone: (goOn) =>
        new Gone(this.screen.theme, () => {
          goOn();
          this.changed();
        }),
      changed: () => this.#place(),
    });
    this.screen = makeScreen(this);
  }

  /** The images that go with the next message of the session that is shown. */
  get attachments(): Attachments {
    return this.#drafts.of(this.#following?.session.id).attachments;
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

  /** The view with what a fork goes on from. */
  get shown(): View | undefined {
    return this.view && this.#earlier.above(this.view);
  }

  get choosing(): Panel | undefined {
    return this.#choosing;
  }

  /** The agent is reached: shows this session. */
  begin(reach: Reach, session: string): void {
    this.#reach = reach;
    reach.outgoing.subscribe((event) => {
      if (event.type === "sent" && event.item.session === this.#following?.session.id)
        this.#following.begin();
      if (event.type === "sent") this.#titled(event.item.session);
      if (event.type === "restored" && event.item.session === this.#following?.session.id)
        this.attempt(() => this.#restore(event.item.session));
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
    const { editor, transcript } = this.screen;
    const before = this.#following;
    if (before?.session.id === session) return this.choose(undefined);
    const draft = this.#drafts.of(session);
    if (before) {
      const { id } = before.session;
      this.#drafts.of(id).text = editor.getExpandedText();
      if (before.view) seen.mark(id, before.view.session.head);
      else if (!this.#drafts.isEmpty(id)) this.#keepFresh(id);
      void before.close().catch(() => undefined);
      editor.setText(draft.text);
    }
    draft.text = "";
    const following = new Following(agent.session(session), () => this.changed());
    this.#texts = this.#textsOf(following);
    following.ended.catch((error: unknown) => this.notices.sayError(error));
    this.#following = following;
    transcript.clear();
    this.screen.scrollToEnd();
    this.asking.update(undefined);
    this.choose(undefined);
    this.attempt(() => this.#restore(session));
    this.changed();
  }

  /** A conversation without messages: in the only session, or in one where something was begun, or in a new one. */
  async openNew(): Promise<void> {
    if (this.only) {
      await this.only.renew();
      this.notices.say("The agent begins anew: it knows nothing of what was said so far.");
      return;
    }
    const fresh = this.#fresh;
    this.#fresh = undefined;
    this.open(fresh ?? newSession());
  }

  /** The first message of the session that is shown is on its way. */
  #begins(text: string): void {
    const { session, standing } = this.#mustFollow();
    if (standing === "absent") this.#titles.set(session.id, oneLine(text, 60));
  }

  /** A message of the session that is shown; what could not be kept comes back above what was begun meanwhile. */
  async send(message: Message): Promise<void> {
    const { session } = this.#mustFollow();
    try {
      this.#begins(message.text);
      await this.#mustReach().outgoing.send(session.id, message);
    } catch (error) {
      this.giveBack(session.id, message);
      const reason = error instanceof Error ? error.message : String(error);
      throw new Fault("unavailable", `Your message was not kept and not sent: ${reason}`);
    }
  }

  /** Gives a message back to be written on, in its own session, above what was begun there. */
  giveBack(session: string, { text, images }: Message): void {
    const { editor } = this.screen;
    const draft = this.#drafts.of(session);
    for (const [at, { data }] of (images ?? []).entries())
      draft.attachments.restore(`image ${at + 1}`, data);
    const isShown = this.#following?.session.id === session;
    const written = isShown ? editor.getExpandedText() : draft.text;
    const whole = written === "" ? text : `${text}\n${written}`;
    if (isShown) editor.setText(whole);
    else {
      draft.text = whole;
      this.notices.say(`A message is back, as a draft in its session ${session}.`, "warn");
    }
    this.changed();
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
        this.show(view);
        this.#reach?.seen.mark(view.session.session, view.session.head);
      }
      const { standing, refusal } = this.#following ?? {};
      const trouble = standing === "deleted" ? "This session was deleted." : refusal;
      if (trouble !== this.#trouble && trouble !== undefined) this.notices.say(trouble, "error");
      this.#trouble = trouble;
      this.#hear();
      this.asking.update(view);
      this.screen.draw();
    });
  }

  /** Shows a view of the session, with what stands before it and with its long texts. */
  show(view: View): void {
    const { transcript } = this.screen;
    transcript.show(this.#texts.of(this.#earlier.above(view), transcript.isUnfolded));
  }

  /** The beginning of what is shown comes into sight. */
  nearTop(): void {
    this.#earlier.load();
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
      this.asking.answered(approvalId);
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

  /** A session is called what its first message says, until somebody names it. */
  #titled(session: string): void {
    const title = this.#titles.get(session);
    if (title === undefined || title === "") return;
    this.#titles.delete(session);
    this.attempt(() => this.#mustReach().agent.session(session).change({ title }));
  }

  #textsOf({ session }: Following): WholeTexts {
    const read = async (sha256: string) => (await session.blob(sha256))?.bytes;
    return new WholeTexts(read, () => this.changed());
  }

  /** Drafts that a chat before this one called back. */
  async #restore(session: string): Promise<void> {
    for (const message of (await this.#reach?.outgoing.takeRestored(session)) ?? [])
      this.giveBack(session, message);
  }

  #keepFresh(session: string): void {
    this.#fresh = session;
    this.notices.say("What you began is kept in the new session: ctrl+n goes back to it.");
  }

  /** A session that somebody else begins is there from then on. */
  #hear(): void {
    const following = this.#following;
    if (following?.standing !== "absent") return;
    const told = this.#reach?.directory.get(following.session.id);
    if (told === undefined || told === this.#rumour) return;
    this.#rumour = told;
    following.begin();
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
