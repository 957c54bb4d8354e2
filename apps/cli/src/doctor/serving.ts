// Who serves the state, and whether the port that a host would take is free.

import { createServer } from "node:net";
import { type Connection, connectHost, portHolder, readHostFile } from "@lichen/server/node";
import { Fault } from "@lichen/wire";
import { type Check, fail, note, ok } from "./check.ts";

export interface Served {
  readonly check: Check;
  /** Where the host of this state listens, once it has proven to be it. */
  readonly url: string | undefined;
}

/** What `host.json` says, and whether it is true. Only a challenge is sent to what listens there. */
export async function checkHost(stateDir: string): Promise<Served> {
  const file = readHostFile(stateDir);
  if (!file) return { check: ok("host", "none runs on this state"), url: undefined };
  const who = `process ${file.pid} at ${file.url}`;
  let connection: Connection;
  try {
    connection = await connectHost(stateDir);
  } catch (error) {
    if (!Fault.is(error)) throw error;
    return {
      check: fail("host", `whether ${who} serves it cannot be told`, error.message),
      url: undefined,
    };
  }
  switch (connection.found) {
    case "host":
      return { check: ok("host", `${who} serves it (${connection.status})`), url: connection.url };
    case "tokenless":
      return {
        check: fail(
          "host",
          `${who} seems to serve it, but the token file is gone`,
          "a host that runs writes it again within seconds; if it does not, stop that process and start it again",
        ),
        url: undefined,
      };
    case "stranger":
      return {
        check: fail(
          "host",
          `something else than its host answers at ${file.url}, which host.json names`,
          `see what process ${file.pid} is; the next start writes host.json anew`,
        ),
        url: undefined,
      };
    case "none":
      return {
        check: isAlive(file.pid)
          ? note(
              "host",
              `${who} is in host.json and does not answer`,
              "if that process is a host, it starts, ends or hangs: look again, then stop it",
            )
          : note(
              "host",
              `host.json names ${who}, which is gone: it crashed`,
              "nothing has to be done; the next start goes on with its work",
            ),
        url: undefined,
      };
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process lives, too.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Whether a host could listen at the port, by listening there for a moment. */
export async function checkPort(
  port: number,
  bind: string,
  url: string | undefined,
): Promise<Check> {
  if (url !== undefined && Number(new URL(url).port) === port)
    return ok("port", `${port} is taken by this agent's own host`);
  const refusal = await refusalOf(port, bind);
  if (refusal === undefined) return ok("port", `${port} is free on ${bind}`);
  if (refusal !== "EADDRINUSE")
    return fail(
      "port",
      `${port} on ${bind} is refused by the computer (${refusal})`,
      "choose others with --port and --bind",
    );
  const holder = portHolder(port) ?? "another program";
  return note(
    "port",
    `${port} is taken by ${holder}`,
    "a start takes a free one instead and says which; --port names one",
  );
}

function refusalOf(port: number, bind: string): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const server = createServer();
  server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  server.listen({ port, host: bind, exclusive: true }, () =>
    server.close(() => resolve(undefined)),
  );
  return promise;
}
