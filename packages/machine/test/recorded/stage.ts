// A machine for recorded clients: a real store and door, devices, a mesh, and sessions of a real process that plays
// Claude Code. It brings sessions into the state that an exchange is about.

import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type MachineSessionInfo, ownHarnesses } from "../../src/index.ts";
import { AccessRig, type Answer, type Ask } from "../access/rig.ts";
import { claudeTranscript, piHead, piTranscript, said, typed } from "../rooms/transcripts.ts";

export type Condition =
  /** Just made: no process. */
  | "idle"
  /** It has had a turn; its process lives. */
  | "talked"
  | "working"
  /** Working, with a message behind that. */
  | "queued"
  /** A permission is asked for. */
  | "waiting"
  /** A question is asked. */
  | "asking"
  | "answered"
  /** Its process was ended in the middle of a question. */
  | "ended"
  /** It continues a conversation from elsewhere. */
  | "adopted"
  /** Its directory is gone. */
  | "homeless"
  /** There is none of the name; a conversation that can be continued. */
  | "elsewhere"
  /** The same, of pi. */
  | "elsewhere in pi"
  /** A conversation of another computer. */
  | "foreign"
  /** A coding agent in a terminal. */
  | "terminal"
  | "none";

/** What `{…}` stands for. */
export type Words = Readonly<Record<string, string>> & { readonly name: string };

const meshes = {
  self: { id: "k0", name: "here" },
  networks: [{ label: "home", addrs: ["127.0.0.2"] }],
  nodes: [{ id: "k1", name: "laptop", network: "home", addrs: ["127.0.0.3"] }],
};
const noOffer = { code: "", id: "" };
const program = join(import.meta.dirname, "scripted-claude.ts");

export class Stage implements AsyncDisposable {
  readonly rig: AccessRig;
  readonly viewer: string;
  /** Keys of two devices of the owner. */
  readonly phone: string;
  readonly desk: string;
  readonly #children: ChildProcess[] = [];
  #made = 0;

  private constructor(rig: AccessRig, keys: Pick<Stage, "viewer" | "phone" | "desk">) {
    this.rig = rig;
    this.viewer = keys.viewer;
    this.phone = keys.phone;
    this.desk = keys.desk;
  }

  static async open(root: string): Promise<Stage> {
    const bin = join(root, "bin");
    mkdirSync(bin, { recursive: true });
    // pi is found, and never begun.
    for (const [name, script] of [
      ["claude", `exec '${process.execPath}' '${program}' "$@"`],
      ["pi", "exit 1"],
    ] as const) {
      writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
      chmodSync(join(bin, name), 0o755);
    }
    const rig = await AccessRig.open({
      root,
      meshes,
      harnesses: ownHarnesses(),
      env: { PATH: [bin, process.env["PATH"] ?? ""].join(delimiter) },
    });
    const [viewer, phone, desk] = [
      await rig.pair("wall screen", "viewer"),
      await rig.pair("phone"),
      await rig.pair("desk"),
    ];
    return new Stage(rig, { viewer: viewer.key, phone: phone.key, desk: desk.key });
  }

  get home(): string {
    return join(this.rig.root, "home");
  }

  async info(name: string): Promise<MachineSessionInfo> {
    const { body } = await this.rig.ask("/v1/sessions");
    const found = (body.sessions as unknown as MachineSessionInfo[]).find((it) => it.name === name);
    if (!found) throw new Error(`there is no ${name}`);
    return found;
  }

  async until(name: string, holds: (info: MachineSessionInfo) => boolean): Promise<void> {
    const deadline = Date.now() + 20_000;
    while (!holds(await this.info(name))) {
      if (Date.now() > deadline)
        throw new Error(`it never came about: ${JSON.stringify(await this.info(name))}`);
      await new Promise((resolve) => void setImmediate(resolve));
    }
  }

  send(name: string, text: string, more: Ask & { readonly id?: string } = {}): Promise<Answer> {
    const { id, ...ask } = more;
    return this.rig.ask(`/v1/sessions/${name}/messages`, {
      json: { text, ...(id === undefined ? {} : { id }) },
      ...ask,
    });
  }

  post(name: string, what: string, json?: unknown, ask: Ask = {}): Promise<Answer> {
    return this.rig.ask(`/v1/sessions/${name}/${what}`, {
      method: "POST",
      ...(json === undefined ? {} : { json }),
      ...ask,
    });
  }

  /** A session in this state, and the other words that stand in a text. */
  async words(of: Condition, text = ""): Promise<Words> {
    const number = ++this.#made;
    const words = {
      ...{ name: `s${number}`, free: `free-${number}`, dir: `~/dir-${number}` },
      ...{ id: `m-${number}`, home: this.home, conversation: `c-${number}`, other: "other" },
      ...{ number: String(number), long: "x".repeat(5_000) },
      prompt: of === "asking" ? "q-1" : "p-1",
      pid: of === "terminal" ? String(await this.#terminal()) : "1",
    };
    await this.#bring(words.name, of, words.conversation);
    const { code, id: pair } =
      text.includes("{code}") || text.includes("{pair}") ? await this.#offer() : noOffer;
    const device = text.includes("{device}") ? (await this.rig.pair(`device ${number}`)).id : "";
    const peer = text.includes("{peer}") ? await this.#peer() : "";
    return { ...words, code, pair, device, peer };
  }

  async #offer(): Promise<{ readonly code: string; readonly id: string }> {
    return (await this.rig.ask("/v1/pair", { json: {} })).body;
  }

  async #peer(): Promise<string> {
    return (await this.rig.ask("/v1/peers")).body.peers[0]?.id ?? "";
  }

  async #bring(name: string, of: Condition, conversation: string): Promise<void> {
    if (of === "none" || of === "terminal") return;
    if (of === "foreign") return this.#transcript(conversation, "/home/somebody-else/work");
    const dir = join(this.home, `ran-${conversation}`);
    if (of === "elsewhere") return this.#transcript(conversation, dir);
    if (of === "elsewhere in pi") return this.#piTranscript(conversation, dir);
    if (of === "adopted") {
      this.#transcript(conversation, dir);
      await this.#make({ name, resume: conversation });
      return this.#imported(name);
    }
    await this.#make({ name, dir: `~/${name}` });
    if (of === "homeless") rmSync(join(this.home, name), { recursive: true });
    if (of === "idle" || of === "homeless") return;
    if (of === "talked") {
      await this.send(name, "hello", { token: this.phone, id: "m-talked" });
      return this.until(name, (it) => it.turns === 1 && it.state === "idle");
    }
    if (of === "working" || of === "queued") {
      await this.send(name, "hang");
      await this.until(name, (it) => it.last_seq >= 3);
      if (of === "queued") await this.#queue(name);
      return;
    }
    await this.send(name, of === "asking" ? "question" : "permit");
    await this.until(name, (it) => it.pending === 1);
    if (of === "answered") await this.post(name, "prompts/p-1", { allow: true });
    if (of === "ended") await this.post(name, "restart");
    if (of === "answered" || of === "ended") await this.until(name, (it) => it.pending === 0);
  }

  /** One that a harness does not fold into its turn: it is sent past the machine API. */
  async #queue(name: string): Promise<void> {
    const { id } = await this.info(name);
    const command = { type: "prompt", requestId: "behind", text: "later" };
    await this.rig.ask(`/agents/${id}/sessions/main/commands`, { json: command });
  }

  async #make(json: object): Promise<void> {
    const { status, text } = await this.rig.ask("/v1/sessions", { json });
    if (status !== 201) throw new Error(text);
  }

  /** What was said before is in the index. */
  async #imported(name: string): Promise<void> {
    for (let tries = 0; tries < 2_000; tries++) {
      const { text } = await this.rig.ask(`/v1/sessions/${name}/search?q=horse`);
      if (text.includes("field")) return;
      await new Promise((resolve) => void setImmediate(resolve));
    }
    throw new Error(`what was said before ${name} is not found`);
  }

  #transcript(id: string, dir: string): void {
    if (dir.startsWith(this.home)) mkdirSync(dir, { recursive: true });
    const lines = [typed("where is the kůň?", 1, dir), said("The horse is in the field.", 2)];
    claudeTranscript({ home: this.home, id, lines });
  }

  #piTranscript(id: string, dir: string): void {
    mkdirSync(dir, { recursive: true });
    piTranscript({ home: this.home, id, lines: [piHead(id, dir)] });
  }

  async #terminal(): Promise<number> {
    const script = "trap 'exit 0' TERM; while :; do read -t 1000 line || exit 1; done";
    const child = spawn("/bin/bash", ["-c", script], {
      argv0: "claude",
      stdio: ["pipe", "ignore", "ignore"],
      cwd: this.home,
    });
    this.#children.push(child);
    await new Promise((resolve) => child.once("spawn", resolve));
    return child.pid!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children.splice(0)) child.kill("SIGKILL");
    await this.rig[Symbol.asyncDispose]();
  }
}
