// Listens on a port for a door: the Node end of HTTP.
//
//   A port that is taken is no failure: the host takes a free one and says who holds the other.
//   However many connections say nothing or are not answered, the host keeps its files, and the next one is heard.
//   A request that is no HTTP, or comes too slowly or too large, is refused in the form of every refusal.

import { type AddressInfo, isIP, type Socket } from "node:net";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { networkInterfaces } from "node:os";
import type { Duplex } from "node:stream";
import { getRequestListener, type HttpBindings, RequestError } from "@hono/node-server";
import { Fault, faultBody, faultStatus } from "@lichen/wire";
import { refusal } from "../door/answer.ts";
import type { Arrival, DoorBindings } from "../door/arrival.ts";
import type { Principal } from "../door/rights.ts";
import { portHolder } from "./port-holder.ts";

export const defaultPort = 7387;

const headersMs = 15_000;
const requestMs = 120_000;
const headerBytes = 16_384;
/** Connections on which nothing is being answered, at once. */
const mostWaiting = 1_024;

/** Where requests go, with how each arrived: a door's `app.fetch`. */
export type DoorFetch = (request: Request, bindings: DoorBindings) => Response | Promise<Response>;

export interface ServeOptions {
  readonly fetch: DoorFetch;
  /** 0 takes any free port. */
  readonly port?: number;
  /** Refuses (`unavailable`) where the port is taken, instead of taking another. */
  readonly isExact?: boolean;
  /** An address of this computer; loopback unless told otherwise. */
  readonly bind?: string;
}

export interface Served {
  readonly url: string;
  readonly port: number;
  /** The port that was asked for and is taken, and by whom where the system says. */
  readonly taken: { readonly port: number; readonly holder?: string } | undefined;
  /** The `host:port` pairs that the server listens as. */
  readonly listensAs: ReadonlySet<string>;
  /** Those of them that are addresses it is bound to: nobody else listens there. */
  readonly boundTo: ReadonlySet<string>;
  /** Takes no further connection; open ones may end by themselves until `graceMs` have passed. */
  close(options: { graceMs: number }): Promise<void>;
}

export async function serveHost(options: ServeOptions): Promise<Served> {
  const bind = options.bind ?? "127.0.0.1";
  const wanted = options.port ?? defaultPort;
  const server = createDoorServer(options.fetch);

  let taken: Served["taken"];
  try {
    await listen(server, wanted, bind);
  } catch (error) {
    if (wanted === 0 || options.isExact === true || !isCode(error, "EADDRINUSE"))
      throw toRefusal(error, bind, wanted);
    const holder = portHolder(wanted);
    taken = { port: wanted, ...(holder === undefined ? {} : { holder }) };
    await listen(server, 0, bind).catch((next: unknown) => {
      throw toRefusal(next, bind, 0);
    });
  }
  // The server is listening on TCP, so that its address is not a path.
  const { address, port } = server.address() as AddressInfo;
  return {
    url: `http://${hostOf(isAnyAddress(bind) ? "127.0.0.1" : isIP(bind) === 0 ? address : bind)}:${port}`,
    port,
    taken,
    listensAs: namesOf(bind, port),
    boundTo: addressesOf(address, port),
    close: ({ graceMs }) => close(server, graceMs),
  };
}

/** A server for a door that listens nowhere yet. `principal` is who comes over it, where that is known by where it listens. */
export function createDoorServer(fetch: DoorFetch, principal?: Principal): Server {
  const answer = getRequestListener(
    (request, bindings) =>
      // This server speaks HTTP/1.1 alone.
      fetch(request, { arrival: arrivalOf(bindings as HttpBindings, principal) }),
    { errorHandler: refuseUnanswered },
  );
  const server = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      maxHeaderSize: headerBytes,
      keepAliveTimeout: 5_000,
      noDelay: true,
    },
    (incoming, outgoing) => void answer(incoming, outgoing),
  );
  limitWaiting(server);
  server.on("clientError", refuseMalformed);
  server.on("upgrade", (_request: IncomingMessage, socket: Duplex) => {
    refuseRaw(socket, 404, new Fault("unknown_route", "This host upgrades no connection."));
  });
  return server;
}

/** Hangs up on the connection that has waited longest, where there are too many; streams and answers under way go on. */
function limitWaiting(server: Server): void {
  /** Each with its latest answer that is not over; whoever said something last stands last. */
  const open = new Map<Socket, ServerResponse | undefined>();
  server.on("connection", (socket) => {
    open.set(socket, undefined);
    socket.once("close", () => open.delete(socket));
    if (open.size <= mostWaiting) return;
    const waiting = [...open].filter(([, answer]) => answer?.headersSent !== true);
    if (waiting.length <= mostWaiting) return;
    const longest = waiting.find(([, answer]) => answer === undefined) ?? waiting[0];
    longest?.[0].destroy();
  });
  server.on("request", ({ socket }, answer) => {
    if (!open.delete(socket)) return;
    open.set(socket, answer);
    answer.once("close", () => {
      if (open.get(socket) === answer) open.set(socket, undefined);
    });
  });
}

function arrivalOf({ incoming, outgoing }: HttpBindings, principal?: Principal): Arrival {
  const { socket } = incoming;
  return {
    from: socket.remoteAddress,
    to: socket.localAddress,
    ...(principal === undefined ? {} : { principal }),
    hangUp: () => void socket.destroy(),
    ended: (then) => {
      if (outgoing.closed) then();
      else outgoing.once("close", then);
    },
  };
}

function listen(server: Server, port: number, host: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen({ port, host, backlog: 1_024 }, () => {
    server.off("error", reject);
    resolve();
  });
  return promise.catch((error: unknown) => {
    server.off("error", reject);
    throw error;
  });
}

/** What the system says against listening, as what to do about it. */
function toRefusal(error: unknown, bind: string, port: number): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  if (["EADDRNOTAVAIL", "EAFNOSUPPORT", "EINVAL", "ENOTFOUND"].includes(code))
    return new Fault(
      "invalid",
      `This computer has no address ${bind} to listen on (${code}): name one of its own with --bind, or leave that out for 127.0.0.1.`,
      { cause: error },
    );
  if (code === "EACCES" || code === "EPERM")
    return new Fault(
      "invalid",
      `This user may not listen on ${hostOf(bind)}:${port} (${code}): choose a port from 1024 on with --port.`,
      { cause: error },
    );
  return new Fault(
    "unavailable",
    `The host cannot listen on ${hostOf(bind)}:${port} (${code}): choose another with --port and --bind.`,
    { cause: error },
  );
}

async function close(server: Server, graceMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeIdleConnections();
  const force = setTimeout(() => server.closeAllConnections(), graceMs);
  await promise;
  clearTimeout(force);
}

/** All names by which a server at this address can rightly be called. */
function namesOf(bind: string, port: number): Set<string> {
  const names = new Set<string>();
  const add = (host: string) => {
    names.add(`${hostOf(host)}:${port}`.toLowerCase());
    if (port === 80) names.add(hostOf(host).toLowerCase());
  };
  const isAny = isAnyAddress(bind);
  if (!isAny) add(bind);
  if (isAny)
    for (const addresses of Object.values(networkInterfaces()))
      for (const { address } of addresses ?? []) add(address);
  if (isAny || isLoopback(bind)) {
    add("localhost");
    add("127.0.0.1");
    add("::1");
  }
  return names;
}

/** The addresses that a listening server has, as `Host` names them. */
function addressesOf(address: string, port: number): Set<string> {
  const all = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  const own = !isAnyAddress(address)
    ? [address]
    : all.filter((it) => address === "::" || it.family === "IPv4").map((it) => it.address);
  const hosts = own.map((it) => URL.parse(`http://${hostOf(it)}:${port}`)?.host);
  return new Set(hosts.filter((host) => host !== undefined));
}

function hostOf(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}

function isAnyAddress(bind: string): boolean {
  return bind === "0.0.0.0" || bind === "::";
}

function isLoopback(bind: string): boolean {
  return bind === "localhost" || bind === "::1" || bind.startsWith("127.");
}

/** Answers where there was no request that a door could take, or a door that threw. */
function refuseUnanswered(error: unknown): Response {
  return refusal(
    error instanceof RequestError
      ? new Fault("invalid", "The request's address or Host is not well-formed.")
      : new Fault("internal", "Something is broken here."),
  );
}

/** Answers what the parser refused, before there is a request that a door could answer. */
function refuseMalformed(error: Error, socket: Duplex): void {
  if (isCode(error, "ECONNRESET") || !socket.writable) {
    socket.destroy();
    return;
  }
  if (isCode(error, "HPE_HEADER_OVERFLOW"))
    refuseRaw(
      socket,
      431,
      new Fault("too_large", `The headers are larger than ${headerBytes} bytes.`),
    );
  else if (isCode(error, "ERR_HTTP_REQUEST_TIMEOUT"))
    refuseRaw(socket, 408, new Fault("invalid", "The request did not come whole in time."));
  else refuseRaw(socket, faultStatus.invalid, new Fault("invalid", "This is not HTTP/1.1."));
}

function refuseRaw(socket: Duplex, status: number, fault: Fault): void {
  const body = JSON.stringify(faultBody(fault));
  const reason = { 400: "Bad Request", 404: "Not Found", 408: "Request Timeout" }[status];
  socket.end(
    [
      `HTTP/1.1 ${status} ${reason ?? "Refused"}`,
      "connection: close",
      "content-type: application/json",
      "x-content-type-options: nosniff",
      `content-length: ${Buffer.byteLength(body)}`,
      "",
      body,
    ].join("\r\n"),
  );
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
