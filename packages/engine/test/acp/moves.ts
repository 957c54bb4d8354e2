// What the agent of the tests can do on a line of its prompt, by the line's first word. A line without such a word is
// said back.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type AgentContext,
  methods,
  type ReadTextFileResponse,
  type RequestPermissionResponse,
  type SessionUpdate,
  type StopReason,
  type ToolKind,
} from "@agentclientprotocol/sdk";

/** A turn of the agent, while it plays. */
export interface Moment {
  readonly sessionId: string;
  readonly client: AgentContext;
  readonly signal: AbortSignal;
  readonly images: number;
  readonly state: string;
  readonly model: () => string;
  /** Prompts of this session so far, that in hand among them. */
  readonly history: () => number;
  readonly update: (update: SessionUpdate) => Promise<void>;
  readonly journal: (fact: object) => void;
  readonly mode: (id: string) => void;
}

type Move = (moment: Moment, rest: string) => Promise<StopReason | void>;

let calls = 0;

export const moves: Readonly<Record<string, Move>> = {
  /** `say TEXT` */
  say: (it, text) => it.update(chunk(text)),
  /** `stream A|B|C`: in pieces of one message */
  stream: async (it, text) => {
    for (const piece of text.split("|")) await it.update(chunk(piece));
  },
  think: (it, text) =>
    it.update({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text } }),
  /** `echo TEXT`: the prompt's own words, as some agents send them back */
  echo: (it, text) =>
    it.update({ sessionUpdate: "user_message_chunk", content: { type: "text", text } }),
  model: (it) => it.update(chunk(it.model())),
  images: (it) => it.update(chunk(`${it.images} images`)),
  count: (it) => it.update(chunk(`prompt ${it.history()}`)),
  plan: (it, text) =>
    it.update({
      sessionUpdate: "plan",
      entries: text
        .split("|")
        .map((content) => ({ content, priority: "medium", status: "pending" })),
    }),
  mode: async (it, id) => {
    it.mode(id);
    await it.update({ sessionUpdate: "current_mode_update", currentModeId: id });
  },
  /** `tool KIND TITLE`: a whole call, without a question */
  tool: async (it, rest) => {
    const { toolCallId, ...call } = await begin(it, rest);
    await it.update({ sessionUpdate: "tool_call_update", toolCallId, status: "in_progress" });
    await it.update({
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: "completed",
      content: [
        { type: "content", content: { type: "text", text: `did ${call.title}` } },
        ...(call.kind === "edit"
          ? [{ type: "diff" as const, path: "/a.txt", oldText: "old", newText: "new" }]
          : []),
      ],
    });
  },
  /** `fail KIND TITLE` */
  fail: async (it, rest) => {
    const { toolCallId } = await begin(it, rest);
    await it.update({
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: "failed",
      content: [{ type: "content", content: { type: "text", text: "it went wrong" } }],
    });
  },
  /** `announce KIND TITLE`: a call that is never begun */
  announce: async (it, rest) => void (await begin(it, rest)),
  /** `open KIND TITLE`: a call whose end is never told */
  open: async (it, rest) => {
    const { toolCallId } = await begin(it, rest);
    await it.update({ sessionUpdate: "tool_call_update", toolCallId, status: "in_progress" });
  },
  /** `permit KIND TITLE`: a call that asks first, with all four answers on offer */
  permit: async (it, rest) => permit(it, await begin(it, rest)),
  /** `eager KIND TITLE`: the same, of a call that it says to have begun before */
  eager: async (it, rest) => {
    const call = await begin(it, rest);
    const { toolCallId } = call;
    await it.update({ sessionUpdate: "tool_call_update", toolCallId, status: "in_progress" });
    await permit(it, call);
  },
  /** `grant KIND TITLE`: the same, and says only `done` or `left` */
  grant: async (it, rest) => {
    let isDone = false;
    const update: Moment["update"] = async (news) => {
      if (news.sessionUpdate === "tool_call_update") isDone = news.status === "completed";
      if (news.sessionUpdate !== "agent_message_chunk") await it.update(news);
    };
    await moves["permit"]!({ ...it, update }, rest);
    await it.update(chunk(isDone ? "done" : "left"));
  },
  /** `choose TITLE|A|B|!C`: a choice, asked as some agents do: several ways to allow, and with `!` to refuse */
  choose: async (it, rest) => {
    const [title = "", ...names] = rest.split("|");
    const { outcome } = await it.client.request<RequestPermissionResponse>(
      methods.client.session.requestPermission,
      {
        sessionId: it.sessionId,
        toolCall: { toolCallId: `choice-${++calls}`, title },
        options: names.map((name, at) => ({
          ...{ optionId: `o${at}`, name: name.replace(/^!/, "") },
          kind: name.startsWith("!") ? ("reject_once" as const) : ("allow_once" as const),
        })),
      },
    );
    await it.update(chunk(outcome.outcome === "selected" ? outcome.optionId : "cancelled"));
  },
  /** `inquire QUESTION|A|B`: a call whose input asks, as some agents do */
  inquire: async (it, rest) => {
    const [question = "", ...labels] = rest.split("|");
    const questions = [{ question, options: labels.map((label) => ({ label })) }];
    const { outcome, ...more } = await it.client.request<RequestPermissionResponse>(
      methods.client.session.requestPermission,
      {
        sessionId: it.sessionId,
        toolCall: { toolCallId: `ask-${++calls}`, title: "Ask", rawInput: { questions } },
        options: [
          { optionId: "submit", name: "Submit", kind: "allow_once" },
          { optionId: "no", name: "Cancel", kind: "reject_once" },
        ],
      },
    );
    await it.update(chunk(JSON.stringify({ outcome, ...more })));
  },
  /** `elicit MESSAGE`: a form of a text, a choice and a yes or no */
  elicit: async (it, message) => {
    const answer = await it.client.request(methods.client.elicitation.create, {
      mode: "form",
      sessionId: it.sessionId,
      message,
      requestedSchema: {
        type: "object",
        properties: {
          name: { type: "string", title: "Name" },
          size: { type: "string", title: "Size", enum: ["S", "L"] },
          sure: { type: "boolean", title: "Sure" },
        },
        required: ["name"],
      },
    });
    await it.update(chunk(JSON.stringify(answer)));
  },
  /** A request that nobody can answer: a page to visit. */
  visit: (it, url) =>
    told(it, async () => {
      const params = {
        mode: "url",
        sessionId: it.sessionId,
        elicitationId: "e",
        url,
        message: "Go",
      };
      return JSON.stringify(await it.client.request("elicitation/create", params));
    }),
  /** `misask TITLE`: a request for permission that is none of the protocol's */
  misask: (it, title) =>
    told(it, async () => {
      const params = { sessionId: it.sessionId, toolCall: { toolCallId: "m-1", title } };
      return JSON.stringify(await it.client.request("session/request_permission", params));
    }),
  /** `stranger TEXT`: speaks, counts costs and offers models under the name of another session */
  stranger: async (it, text) => {
    const said = { sessionId: "elsewhere", update: chunk(text) };
    await it.client.notify(methods.client.session.update, said);
    await it.client.notify(methods.client.session.update, {
      sessionId: "elsewhere",
      update: {
        sessionUpdate: "usage_update",
        ...{ used: 1, size: 2, cost: { amount: 9, currency: "USD" } },
      },
    });
    await it.client.notify(methods.client.session.update, {
      sessionId: "elsewhere",
      update: { sessionUpdate: "config_option_update", configOptions: [] },
    });
  },
  /** `foreign MOVE REST`: asks its client under the name of another session */
  foreign: (it, rest) =>
    told(it, async () => {
      const [name = "", ...words] = rest.split(" ");
      await moves[name]?.({ ...it, sessionId: "elsewhere" }, words.join(" "));
      return "";
    }),
  read: (it, path) =>
    told(it, async () => {
      const request = { sessionId: it.sessionId, path };
      const { content } = await it.client.request<ReadTextFileResponse>(
        methods.client.fs.readTextFile,
        request,
      );
      return content;
    }),
  /** `lines PATH FROM COUNT` */
  lines: (it, rest) =>
    told(it, async () => {
      const [path = "", line, limit] = rest.split(" ");
      const request = { sessionId: it.sessionId, path, line: Number(line), limit: Number(limit) };
      const { content } = await it.client.request<ReadTextFileResponse>(
        methods.client.fs.readTextFile,
        request,
      );
      return content;
    }),
  /** `write PATH TEXT` */
  write: (it, rest) =>
    told(it, async () => {
      const [path = "", ...words] = rest.split(" ");
      const request = { sessionId: it.sessionId, path, content: words.join(" ") };
      await it.client.request(methods.client.fs.writeTextFile, request);
      return "written";
    }),
  /** `run COMMAND ARGS`: in a terminal, to its end */
  run: (it, rest) =>
    told(it, async () => {
      const [command = "", ...args] = rest.split(" ");
      await using terminal = await it.client.createTerminal({
        ...{ sessionId: it.sessionId, command, args },
        env: [{ name: "GREETING", value: "hello" }],
      });
      const { exitCode, signal } = await terminal.waitForExit();
      const { output, truncated } = await terminal.currentOutput();
      return JSON.stringify({ exitCode, signal, output, truncated });
    }),
  /** `elsewhere CWD`: a terminal in another folder */
  elsewhere: (it, cwd) =>
    told(it, async () => {
      const request = { sessionId: it.sessionId, command: "pwd", cwd };
      await using terminal = await it.client.createTerminal(request);
      await terminal.waitForExit();
      return (await terminal.currentOutput()).output;
    }),
  /** `limited BYTES COMMAND ARGS`: a terminal that keeps so much of its output */
  limited: (it, rest) =>
    told(it, async () => {
      const [bytes, command = "", ...args] = rest.split(" ");
      const outputByteLimit = Number(bytes);
      const request = { sessionId: it.sessionId, command, args, outputByteLimit };
      await using terminal = await it.client.createTerminal(request);
      await terminal.waitForExit();
      return JSON.stringify(await terminal.currentOutput());
    }),
  /** `background COMMAND ARGS`: a terminal that is left running; notes its process */
  background: (it, rest) =>
    told(it, async () => {
      const args = ["-c", `echo $$; exec ${rest}`];
      const terminal = await it.client.createTerminal({
        sessionId: it.sessionId,
        command: "sh",
        args,
      });
      let output = "";
      while (!output.includes("\n")) {
        await soon();
        output = (await terminal.currentOutput()).output;
      }
      it.journal({ terminal: terminal.id, pid: Number(output) });
      return "it runs";
    }),
  /** `kill COMMAND ARGS`: a terminal that is ended while it runs */
  kill: (it, rest) =>
    told(it, async () => {
      const [command = "", ...args] = rest.split(" ");
      const request = { sessionId: it.sessionId, command, args };
      await using terminal = await it.client.createTerminal(request);
      await terminal.kill();
      const { exitCode = null, signal = null } = await terminal.waitForExit();
      return JSON.stringify({ exitCode, signal });
    }),
  /** A request that the protocol does not know. */
  unknown: (it) =>
    told(it, async () => JSON.stringify(await it.client.request("test/strange", {}))),
  /** An update that the protocol does not know. */
  strange: async (it) => {
    const params = { sessionId: it.sessionId, update: { sessionUpdate: "strange", what: 1 } };
    await it.client.notify<unknown>("session/update", params);
  },
  /** `cost DOLLARS`: what the session has cost so far */
  cost: (it, amount) =>
    it.update({
      sessionUpdate: "usage_update",
      ...{ used: 1_200, size: 100_000, cost: { amount: Number(amount), currency: "USD" } },
    }),
  /** `commands NAME`: the agent's own */
  commands: (it, name) =>
    it.update({
      sessionUpdate: "available_commands_update",
      availableCommands: [{ name, description: `The ${name} command` }],
    }),
  /** `stop REASON` */
  stop: async (_, reason) => reason as StopReason,
  /** `wait NAME`: until STATE/NAME exists, or the turn is cancelled */
  wait: async (it, name) => {
    it.journal({ waits: name });
    while (!it.signal.aborted && !existsSync(join(it.state, name))) await soon();
  },
  /** Until the turn is cancelled. */
  hang: async (it) => {
    it.journal({ hangs: true });
    while (!it.signal.aborted) await soon();
  },
  /** Hears no cancellation. */
  stuck: async (it) => {
    it.journal({ stuck: true });
    await new Promise<never>(() => {});
  },
  /** `crash WORDS` */
  crash: async (_, words) => {
    process.stderr.write(`${words}\n`);
    process.exit(7);
  },
  /** Lines that are no messages, in the middle of a turn. */
  babble: async () => {
    process.stdout.write("just a log line\n");
  },
  /** `later NAME TEXT`: after this turn, once STATE/NAME exists, speaks by itself */
  later: async (it, rest) => {
    const [name = "", ...words] = rest.split(" ");
    void (async () => {
      while (!existsSync(join(it.state, name))) await soon();
      await it.update(chunk(words.join(" ")));
    })();
  },
  /** `quietly GO NAME`: after this turn, once STATE/GO exists, tells of a command of its own, which is no speech */
  quietly: async (it, rest) => {
    const [go = "", name = ""] = rest.split(" ");
    void (async () => {
      while (!existsSync(join(it.state, go))) await soon();
      await moves["commands"]!(it, name);
    })();
  },
  /** `utter NAME`: once STATE/NAME exists, says by itself what stands in it */
  utter: async (it, name) => {
    void (async () => {
      const file = join(it.state, name);
      while (!existsSync(file) || readFileSync(file, "utf8") === "") await soon();
      await it.update(chunk(readFileSync(file, "utf8")));
    })();
  },
  /** `afterwards NAME KIND TITLE`: after this turn, once STATE/NAME exists, asks for permission */
  afterwards: async (it, rest) => {
    const [name = "", ...call] = rest.split(" ");
    void (async () => {
      while (!existsSync(join(it.state, name))) await soon();
      await moves["permit"]!(it, call.join(" "));
    })();
  },
  /** `busily GO END KIND TITLE`: after this turn, once STATE/GO exists, makes a call by itself until STATE/END exists */
  busily: async (it, rest) => {
    const [go = "", end = "", ...call] = rest.split(" ");
    void (async () => {
      while (!existsSync(join(it.state, go))) await soon();
      const { toolCallId } = await begin(it, call.join(" "));
      await it.update({ sessionUpdate: "tool_call_update", toolCallId, status: "in_progress" });
      it.journal({ busy: toolCallId });
      while (!existsSync(join(it.state, end))) await soon();
      await it.update({ sessionUpdate: "tool_call_update", toolCallId, status: "completed" });
      it.journal({ idle: toolCallId });
    })();
  },
  /** `forge ID TITLE`: asks for permission under an id of its own making, and goes on; notes the answer */
  forge: async (it, rest) => {
    const [id, ...words] = rest.split(" ");
    const params = {
      sessionId: it.sessionId,
      toolCall: { toolCallId: `forged-${++calls}`, title: words.join(" "), rawInput: { a: 1 } },
      options: [
        { optionId: "yes", name: "Allow", kind: "allow_once" },
        { optionId: "no", name: "Reject", kind: "reject_once" },
      ],
    };
    const request = {
      jsonrpc: "2.0",
      id: Number(id),
      method: "session/request_permission",
      params,
    };
    process.stdin.on("data", function heard(chunk: Buffer) {
      const line = chunk
        .toString()
        .split("\n")
        .find((it) => it.includes(`"id":${id}`));
      if (line === undefined) return;
      process.stdin.off("data", heard);
      it.journal({ forged: (JSON.parse(line) as { result: unknown }).result });
    });
    process.stdout.write(`${JSON.stringify(request)}\n`);
  },
  /** An error in place of an end. */
  throw: async (_, words) => {
    throw new Error(words);
  },
};

type Begun = Awaited<ReturnType<typeof begin>>;

async function permit(it: Moment, { toolCallId, title }: Begun): Promise<void> {
  const { outcome } = await it.client.request(methods.client.session.requestPermission, {
    sessionId: it.sessionId,
    toolCall: { toolCallId, title },
    options: [
      { optionId: "yes", name: "Allow", kind: "allow_once" },
      { optionId: "yes-always", name: "Always allow", kind: "allow_always" },
      { optionId: "no", name: "Reject", kind: "reject_once" },
      { optionId: "no-always", name: "Always reject", kind: "reject_always" },
    ],
  });
  const chosen = outcome.outcome === "selected" ? outcome.optionId : "cancelled";
  it.journal({ permission: chosen });
  const isAllowed = chosen.startsWith("yes");
  await it.update({
    sessionUpdate: "tool_call_update",
    toolCallId,
    status: isAllowed ? "completed" : "failed",
    content: [{ type: "content", content: { type: "text", text: `chosen: ${chosen}` } }],
  });
  await it.update(chunk(isAllowed ? `did ${title}` : `left ${title} alone`));
}

function chunk(text: string): SessionUpdate {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
}

async function begin(it: Moment, rest: string) {
  const [kind = "other", ...words] = rest.split(" ");
  const call = {
    toolCallId: `call-${++calls}`,
    kind: kind as ToolKind,
    title: words.join(" "),
    locations: [{ path: "/a.txt", line: 3 }],
    rawInput: { what: words.join(" ") },
  };
  await it.update({ sessionUpdate: "tool_call", ...call, status: "pending" });
  return call;
}

/** Says what came of something, or why it did not. */
async function told(it: Moment, what: () => Promise<string>): Promise<void> {
  const text = await what().catch((error: Error) => `refused: ${error.message}`);
  await it.update(chunk(text));
}

function soon(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}
