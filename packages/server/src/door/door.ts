// The session door of a host: every request passes the guard, is told who it is, and meets its route.
//
//   The order of refusals is fixed: Host and Origin (403), a host that starts or drains (503), no credential (401),
//   no such route (404) or method (405), a missing right (403); only then is a body read.
//   Nothing but a refusal's own words leaves: a bug is an id that the log has.

import type { Agent, HostFrame, Platform, Sink, Subscription } from "@lichen/runtime";
import { AgentName, Fault } from "@lichen/wire";
import { type Context, Hono } from "hono";
import type { Arrival, DoorBindings } from "./arrival.ts";
import { answerThrown, type BugLog, json, noContent, pathOf, refusal, tellBug } from "./answer.ts";
import { check, readJson, readQuery } from "./body.ts";
import { refuseCaged } from "./caged.ts";
import { Credentials, type TokenBook, type Visitors } from "./credentials.ts";
import { capabilityRoutesTable } from "./capability-routes.ts";
import { createGuard } from "./guard.ts";
import { createNames, type NameOptions } from "./names.ts";
import { checkNonce, vouchText } from "./proof.ts";
import { demand, type Principal } from "./rights.ts";
import {
  type Ask,
  type Deed,
  deedOf,
  nameReader,
  type Route,
  withoutBody,
  wrongMethod,
} from "./route.ts";
import { cursorOf, sessionRoutesTable } from "./session-routes.ts";
import { HealthQuery, LoginBody, NoQuery } from "./shapes.ts";
import { Streams } from "./streams.ts";

/** The version of the wire that this door speaks. */
const wireVersion = 1;
/** What every door can do beyond the basic routes. */
const ownFeatures = ["models", "capabilities"];

/** What a door needs of the one who owns the agents. */
export interface DoorOwner {
  agents(): readonly Agent[];
  /** Undefined, or a `Fault`, for a name that is not known. */
  agent(name: string): Agent | undefined;
  observeHost(sink: Sink<HostFrame>, options?: { after?: string }): Subscription;
}

export interface DoorOptions extends NameOptions {
  /** Undefined while the host starts: then everything but `/health` is 503. */
  readonly owner: () => DoorOwner | undefined;
  readonly tokens: TokenBook;
  /** Who may come in beside the holders of those tokens. */
  readonly visitors?: Visitors;
  /** What this host can do beyond its door's own features; newer clients leave out what is not named. */
  readonly features: readonly string[];
  readonly platform: Pick<Platform, "now" | "after">;
  readonly log: BugLog;
  readonly mounts?: readonly Mount[];
}

/** Routes of another room, behind this door's guard and credentials. */
export interface Mount {
  /** The first segment of all its paths. */
  readonly prefix: string;
  /** Asks for no credential: its requests come from anybody who can reach the host. */
  readonly isOpen?: boolean;
  /** Answers a request of somebody who is known; what it throws is answered as everywhere. */
  run(
    request: Request,
    principal: Principal,
    arrival: Arrival | undefined,
  ): Response | Promise<Response>;
  /** The form in which its clients read refusals, where it has one of its own. */
  refuse?(fault: Fault): Response;
  /** The door goes down: its streams end. */
  drain(): void;
}

export interface Door {
  /** Listeners hand it what they know of a request's way beside the request. */
  readonly app: Hono<{ Bindings: DoorBindings }>;
  /** How many event streams are open. */
  readonly openStreams: number;
  /** Admits nothing more (503) and ends every stream at a place from which its reader can go on. */
  drain(): void;
}

export function createDoor(options: DoorOptions): Door {
  const streams = new Streams(options.platform.after);
  const credentials = new Credentials(options.tokens, options.platform.now, options.visitors);
  const names = createNames(options);
  const guard = createGuard(names);
  let isDraining = false;

  const app = new Hono<{ Bindings: DoorBindings }>({ getPath: (request) => pathOf(request.url) });

  /** Runs a route's own part inside what is common to all: the guard before, the one table of refusals after. */
  const enter =
    (
      run: (request: Request, arrival: Arrival | undefined) => Response | Promise<Response>,
      refuse?: Mount["refuse"],
    ) =>
    async (context: Context<{ Bindings: DoorBindings }>): Promise<Response> => {
      const request = context.req.raw;
      // A platform without connections of its own hands over nothing.
      const arrival = (context.env as DoorBindings | undefined)?.arrival;
      try {
        guard(request, arrival);
        const answer = await run(request, arrival);
        return request.method === "HEAD" ? withoutBody(answer) : answer;
      } catch (error) {
        return answerThrown(error, request, options.log, refuse);
      }
    };

  const health = async (request: Request): Promise<Response> => {
    if (request.method !== "GET" && request.method !== "HEAD")
      return wrongMethod(request.method, ["GET"]);
    const { challenge, device } = readQuery(request, HealthQuery);
    const status = isDraining ? "draining" : options.owner() ? "ok" : "starting";
    const proof =
      challenge === undefined ? {} : await prove(request, checkNonce(challenge), device);
    return json(
      {
        status,
        wire: wireVersion,
        features: [...ownFeatures, ...options.features],
        ...proof,
      },
      status === "ok" ? 200 : 503,
    );
  };

  /** `proof` alone is what clients asked for before hosts vouched for addresses. */
  const prove = async (
    request: Request,
    nonce: string,
    device: string | undefined,
  ): Promise<{ proof?: string; vouch?: string }> => {
    const sign = (text: string) =>
      device === undefined ? options.tokens.prove(text) : credentials.proveTo(device, text);
    const proof = await sign(nonce);
    if (proof === undefined) return {};
    const host = request.headers.get("host")?.toLowerCase();
    if (host === undefined || !names.vouchesFor(host)) return { proof };
    const vouch = await sign(vouchText(nonce, host));
    return vouch === undefined ? {} : { proof, vouch };
  };

  const login = async (request: Request): Promise<Response> => {
    if (request.method !== "POST") return wrongMethod(request.method, ["POST"]);
    readyOwner();
    const { token } = await readJson(request, LoginBody);
    const halves = await credentials.exchange(token, isSecure(request));
    if (halves === undefined) throw new Fault("unauthenticated", "That token is not known here.");
    return json({ page: halves.page }, 200, { "set-cookie": halves.cookie });
  };

  const logout = (request: Request): Response => {
    if (request.method !== "POST") return wrongMethod(request.method, ["POST"]);
    return noContent({ "set-cookie": credentials.revoke(isSecure(request)) });
  };

  const securePublicHost = options.publicUrl?.startsWith("https:")
    ? new URL(options.publicUrl).host
    : undefined;
  /** Whether the browser that asks came over TLS, here or in front of here. */
  const isSecure = (request: Request): boolean =>
    request.url.startsWith("https:") ||
    (securePublicHost !== undefined && request.headers.get("host") === securePublicHost);

  const readyOwner = (): DoorOwner => {
    const owner = options.owner();
    if (!isDraining && owner) return owner;
    throw new Fault(
      "unavailable",
      `The host is ${isDraining ? "going down" : "starting"}: try again in a moment.`,
    );
  };

  /** The owner, or 503; and who asks, or 401. */
  const admit = async (
    request: Request,
    arrival: Arrival | undefined,
  ): Promise<{ owner: DoorOwner; principal: Principal }> => {
    const owner = readyOwner();
    const known = credentials.identify(request.headers, arrival);
    const principal = known instanceof Promise ? await known : known;
    if (principal.kind === "none") demand(principal, "read");
    return { owner, principal };
  };

  const hostRoute = (
    path: string,
    run: (request: Request, owner: DoorOwner) => Response | Promise<Response>,
  ): void => {
    app.all(
      path,
      enter(async (request, arrival) => {
        const { owner, principal } = await admit(request, arrival);
        if (request.method !== "GET" && request.method !== "HEAD")
          return wrongMethod(request.method, ["GET"]);
        demand(principal, "readAll");
        return run(request, owner);
      }),
    );
  };

  const agentRoute = (route: Route): void => {
    const path = `/agents/:agent${route.path}`;
    app.all(
      path,
      enter(async (request, arrival) => {
        const { owner, principal } = await admit(request, arrival);
        const deed = deedOf(route, request.method);
        if (!deed) return wrongMethod(request.method, Object.keys(route.methods));
        const name = nameReader(path, request.url);
        const agentName = check(AgentName, name("agent"), "agent");
        const target = path.includes(":session")
          ? { agent: agentName, session: name("session") }
          : undefined;
        demandOne(principal, deed, target);
        refuseCaged(request);
        const found = owner.agent(agentName);
        if (!found) throw new Fault("unknown_agent", `There is no agent "${agentName}" here.`);
        const agent = actedBy(found, principal);
        const ask: Ask = {
          request,
          agent,
          name,
          demand: (right) => demand(principal, right, target),
          report: (error) => tellBug(error, request, options.log),
          streams,
        };
        return deed.run(ask);
      }),
    );
  };

  app.all("/health", enter(health));
  app.all("/login", enter(login));
  app.all("/logout", enter(logout));
  hostRoute("/agents", async (request, owner) => {
    readQuery(request, NoQuery);
    return json({ agents: await Promise.all(owner.agents().map((agent) => agent.info())) });
  });
  hostRoute("/events", (request, owner) => {
    const after = cursorOf(request);
    return streams.watch<HostFrame>((sink) =>
      owner.observeHost(sink, after === undefined ? {} : { after }),
    );
  });
  for (const route of [...sessionRoutesTable, ...capabilityRoutesTable]) agentRoute(route);
  for (const mount of options.mounts ?? []) {
    const answer = enter(
      async (request, arrival) => {
        if (!mount.isOpen)
          return mount.run(request, (await admit(request, arrival)).principal, arrival);
        readyOwner();
        return mount.run(request, { kind: "none" }, arrival);
      },
      (fault) => mount.refuse?.(fault) ?? refusal(fault),
    );
    app.all(`/${mount.prefix}`, answer);
    app.all(`/${mount.prefix}/*`, answer);
  }
  app.notFound(
    enter(async (request, arrival) => {
      await admit(request, arrival);
      return refusal(new Fault("unknown_route", "There is no such route on this host."));
    }),
  );

  return {
    app,
    get openStreams() {
      return streams.size;
    },
    drain: () => {
      isDraining = true;
      streams.drain();
      for (const mount of options.mounts ?? []) mount.drain();
    },
  };
}

/** The agent as a device acts on it: its name stands by what it does. */
function actedBy(agent: Agent, principal: Principal): Agent {
  if (principal.kind !== "owner" || principal.name === undefined) return agent;
  return agent.withMeta({ by: principal.name }, { stopsAll: true });
}

/** Lets in who has one of the rights that a deed may need; the last one's refusal is the answer. */
function demandOne(
  principal: Principal,
  deed: Deed,
  target: { agent: string; session: string } | undefined,
): void {
  let refused: unknown;
  for (const right of deed.rights) {
    try {
      return demand(principal, right, target);
    } catch (error) {
      refused = error;
    }
  }
  throw refused;
}
