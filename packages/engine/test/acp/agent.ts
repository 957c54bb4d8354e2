// A small agent of the Agent Client Protocol, for tests: `node agent.ts STATE [FLAGS]`. What it does stands in its
// prompts, one move on each line (see `moves`); what it was asked stands in STATE/journal.jsonl, one JSON line for each.
//
// Flags: --load or --resume offers that way back into a session (without, a session ends with its process); --images,
// --models, --models=A,B, --modes offer those; --sign-in wants an account; --speaks=N answers another version of the protocol;
// --mute never answers; --deaf never answers when it is set to something; --late=NAME answers for a new session once STATE/NAME exists; --garbage prints what is no message and ends; --dies=WORDS says them on stderr and ends.

import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Writable } from "node:stream";
import {
  agent,
  type AgentContext,
  methods,
  ndJsonStream,
  type PromptRequest,
  RequestError,
  type SessionConfigOption,
  type SessionUpdate,
  type StopReason,
} from "@agentclientprotocol/sdk";
import { type Moment, moves } from "./moves.ts";

const [state = "", ...flags] = process.argv.slice(2);
const has = (flag: string) => flags.includes(`--${flag}`);
const valueOf = (flag: string) =>
  flags.find((it) => it.startsWith(`--${flag}=`))?.slice(flag.length + 3);

mkdirSync(state, { recursive: true });
journal({ began: process.pid });

if (has("garbage")) {
  process.stdout.write("Welcome! This is no protocol at all.\n{not json}\n");
  process.stderr.write("no such option: --acp\n");
  process.exit(2);
}
const lastWords = valueOf("dies");
if (lastWords !== undefined) {
  process.stderr.write(`${lastWords}\n`);
  process.exit(3);
}
if (!has("mute")) serve();
else setInterval(() => {}, 60_000);

function serve(): void {
  const cancels = new Map<string, AbortController>();
  const models = valueOf("models")?.split(",") ?? ["small/one", "large/two"];
  let [model = ""] = models;
  let mode = "ask";
  const offersModels = flags.some((it) => it.startsWith("--models"));
  const configOptions = (): SessionConfigOption[] => [
    {
      type: "select",
      id: "model",
      name: "Model",
      category: "model",
      currentValue: model,
      options: models.map((value) => ({ value, name: value })),
    },
  ];
  const offered = () => ({
    ...(offersModels ? { configOptions: configOptions() } : {}),
    ...(has("modes") || offersModels
      ? {
          modes: {
            currentModeId: mode,
            availableModes: ["ask", "code"].map((id) => ({ id, name: id })),
          },
        }
      : {}),
  });

  /** A session goes on with the model that it was set to. */
  const recall = (sessionId: string): void => {
    const file = `${fileOf(sessionId)}.model`;
    if (existsSync(file)) model = readFileSync(file, "utf8");
  };

  async function prompt(params: PromptRequest, client: AgentContext): Promise<StopReason> {
    const { sessionId } = params;
    const text = params.prompt.map((it) => (it.type === "text" ? it.text : "")).join("");
    const images = params.prompt.filter((it) => it.type === "image").length;
    journal({ prompt: text, session: sessionId, images });
    remember(sessionId, { role: "user", text });
    const cancel = new AbortController();
    cancels.set(sessionId, cancel);
    const update = async (it: SessionUpdate) => {
      if (it.sessionUpdate === "agent_message_chunk" && it.content.type === "text")
        remember(sessionId, { role: "agent", text: it.content.text });
      await client.notify(methods.client.session.update, { sessionId, update: it });
    };
    const moment: Moment = {
      ...{ sessionId, client, images, state, update, journal },
      signal: cancel.signal,
      model: () => model,
      history: () => history(sessionId).filter((it) => it.role === "user").length,
      mode: (id) => {
        mode = id;
      },
    };
    try {
      for (const line of text.split("\n")) {
        const [name = "", ...rest] = line.trim().split(" ");
        const move = moves[name];
        const reason = await (move ?? moves["say"]!)(moment, move ? rest.join(" ") : line);
        if (cancel.signal.aborted) return "cancelled";
        if (reason) return reason;
      }
      return "end_turn";
    } finally {
      cancels.delete(sessionId);
    }
  }

  agent({ name: "test-agent" })
    .onRequest(methods.agent.initialize, ({ params }) => {
      journal({ initialize: params });
      return {
        protocolVersion: Number(valueOf("speaks") ?? 1),
        agentInfo: { name: "test-agent", version: "1.0.0" },
        authMethods: has("sign-in")
          ? [{ id: "web", name: "Sign in on the web", description: "Run `test-agent login`" }]
          : [],
        agentCapabilities: {
          loadSession: has("load"),
          promptCapabilities: { image: has("images") },
          sessionCapabilities: has("resume") ? { resume: {} } : {},
        },
      };
    })
    .onRequest(methods.agent.session.new, async ({ params }) => {
      const late = valueOf("late");
      if (late !== undefined) journal({ asked: "new" });
      while (late !== undefined && !existsSync(join(state, late)))
        await new Promise((resolve) => setTimeout(resolve, 5));
      if (has("sign-in")) throw RequestError.authRequired(undefined, "No account");
      const sessionId = `s-${process.pid}`;
      journal({ opened: sessionId, cwd: params.cwd });
      writeFileSync(fileOf(sessionId), "");
      return { sessionId, ...offered() };
    })
    .onRequest(methods.agent.session.load, async ({ params, client }) => {
      const { sessionId } = params;
      known(sessionId);
      recall(sessionId);
      journal({ loaded: sessionId });
      for (const { role, text } of history(sessionId))
        await client.notify(methods.client.session.update, {
          sessionId,
          update: {
            sessionUpdate: role === "user" ? "user_message_chunk" : "agent_message_chunk",
            content: { type: "text", text },
          },
        });
      return offered();
    })
    .onRequest(methods.agent.session.resume, ({ params }) => {
      known(params.sessionId);
      recall(params.sessionId);
      journal({ resumed: params.sessionId });
      return offered();
    })
    .onRequest(methods.agent.session.setMode, async ({ params }) => {
      if (has("deaf")) await never({ mode: params.modeId });
      mode = params.modeId;
      journal({ mode });
      return {};
    })
    .onRequest(methods.agent.session.setConfigOption, async ({ params }) => {
      if (has("deaf")) await never({ model: params.value });
      if (typeof params.value !== "string") throw RequestError.invalidParams();
      model = params.value;
      writeFileSync(`${fileOf(params.sessionId)}.model`, model);
      journal({ model });
      return { configOptions: configOptions() };
    })
    .onRequest(methods.agent.session.prompt, async ({ params, client }) => ({
      stopReason: await prompt(params, client),
    }))
    .onNotification(methods.agent.session.cancel, ({ params }) => {
      journal({ cancel: params.sessionId });
      cancels.get(params.sessionId)?.abort();
    })
    .connect(ndJsonStream(Writable.toWeb(process.stdout), input()));
}

async function never(asked: object): Promise<never> {
  journal({ deaf: asked });
  return new Promise<never>(() => {});
}

function input(): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      process.stdin.on("data", (chunk: Buffer) => controller.enqueue(new Uint8Array(chunk)));
      process.stdin.once("end", () => controller.close());
    },
  });
}

function journal(fact: object): void {
  appendFileSync(join(state, "journal.jsonl"), `${JSON.stringify(fact)}\n`);
}

interface Said {
  readonly role: "user" | "agent";
  readonly text: string;
}

function fileOf(sessionId: string): string {
  return join(state, `${sessionId}.jsonl`);
}

function known(sessionId: string): void {
  if (!existsSync(fileOf(sessionId))) throw RequestError.sessionNotFound(sessionId);
}

function remember(sessionId: string, said: Said): void {
  appendFileSync(fileOf(sessionId), `${JSON.stringify(said)}\n`);
}

function history(sessionId: string): Said[] {
  return readFileSync(fileOf(sessionId), "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Said);
}
