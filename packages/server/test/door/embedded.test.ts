import { Baseline, Fault, type JsonObject } from "@lichen/wire";
import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import { refusal } from "../../src/door/answer.ts";
import { type EmbeddedVariables, sessionRoutes } from "../../src/door/session-routes.ts";
import { Streams } from "../../src/door/streams.ts";
import { serveHost } from "../../src/host/serve.ts";
import { openAgentRig } from "./agent-rig.ts";
import { openStream, refused, sendRequest } from "./rig.ts";

/** A program of its own: it knows its callers, and lends them an agent under `/bot`. */
async function openProgram() {
  const rig = await openAgentRig({ meta: { identityPath: "$.user" } });
  const streams = new Streams(rig.clock.after);
  const app = new Hono<EmbeddedVariables>();
  app.use("/bot/*", async (context, next) => {
    const user = context.req.header("x-user");
    if (user === undefined) return refusal(new Fault("unauthenticated", "Who are you?"));
    const meta: JsonObject = { user };
    context.set("meta", meta);
    return next();
  });
  app.route("/bot", sessionRoutes(rig.agent, { streams, log: (bug) => rig.bugs.push(bug) }));
  const served = await serveHost({ fetch: app.fetch, port: 0 });
  return {
    rig,
    streams,
    port: served.port,
    ask: (path: string, user: string, json?: object) =>
      sendRequest(served.port, `/bot${path}`, {
        headers: { "x-user": user },
        ...(json === undefined ? {} : { json }),
      }),
    [Symbol.asyncDispose]: async () => {
      streams.drain();
      await served.close({ graceMs: 0 });
      await rig[Symbol.asyncDispose]();
    },
  };
}

describe("the routes of an embedded agent", () => {
  test("[H26] are mounted anywhere behind the program's own middleware, under the names of the wire", async () => {
    await using program = await openProgram();
    const made = await program.ask("/sessions", "ann", { requestId: "r", session: "a/b ü" });
    expect(made.status).toBe(201);
    const path = `/sessions/${encodeURIComponent("a/b ü")}`;
    const read = Baseline.parse((await program.ask(path, "ann")).json());
    expect(read.session.session).toBe("a/b ü");
    expect((await sendRequest(program.port, `/bot${path}`, {})).status).toBe(401);
    expect(refused(await program.ask("/sessions/%ff", "ann"))).toMatchObject({ status: 400 });
    const wrong = await program.ask(`${path}/commands`, "ann");
    expect([wrong.status, wrong.headers.allow]).toEqual([405, "POST"]);
    expect((await program.ask("/nothing", "ann")).status).toBe(404);
  });

  test("[H26] what the middleware says of the caller is stored with what is admitted, and decides whose it is", async () => {
    await using program = await openProgram();
    const path = "/sessions/s/commands";
    const line = { type: "line", requestId: "r", text: "hello" };
    expect((await program.ask(path, "ann", line)).status).toBe(202);
    const { entries } = Baseline.parse((await program.ask("/sessions/s", "bob")).json());
    expect(entries[0]!.meta).toEqual({ user: "ann" });
    const asBob = await program.ask(path, "bob", line);
    expect(refused(asBob)).toMatchObject({ status: 409, code: "conflict" });
    const smuggled = await program.ask(path, "bob", { ...line, meta: { user: "ann" } });
    expect(refused(smuggled)).toMatchObject({ status: 400, code: "invalid" });
  });

  test("[H26] streams and invoke work there too, and end when the program says so", async () => {
    await using program = await openProgram();
    const invoked = await program.ask("/invoke", "ann", { session: "s", text: "hi" });
    expect(invoked.text).toContain('"type":"completed"');
    await using reader = await openStream(program.port, "/bot/sessions/s/events", {
      headers: { "x-user": "bob" },
    });
    expect(await reader.until("\n\n")).toContain("event: baseline");
    program.streams.drain();
    expect(await reader.rest()).toBe(": closed\n\n");
  });
});
