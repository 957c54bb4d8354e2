// What an agent may call, over HTTP: below `/agents/{agent}/capabilities`, and a session's grants. For the owner alone.
//
// An embedding program's routes have none of it: who may send to a session does not decide what its agent can reach.

import {
  AttachRequest,
  CallRequest,
  CapabilityChanges,
  CapabilityId,
  GrantsDelivery,
} from "@lichen/wire";
import { json, noContent } from "./answer.ts";
import { check, readJson, readQuery } from "./body.ts";
import type { Ask, Route } from "./route.ts";
import { NoQuery, OperationsQuery } from "./shapes.ts";

export const capabilityRoutesTable: readonly Route[] = [
  {
    path: "/capabilities",
    methods: {
      GET: {
        rights: ["lend"],
        run: async ({ request, agent }) => {
          readQuery(request, NoQuery);
          return json(await agent.capabilities.list());
        },
      },
      POST: {
        rights: ["lend"],
        run: async ({ request, agent }) => {
          const asked = await readJson(request, AttachRequest);
          const { info, replay } = await agent.capabilities.attach(asked);
          return json(info, replay ? 200 : 201);
        },
      },
    },
  },
  {
    path: "/capabilities/:capability",
    methods: {
      GET: {
        rights: ["lend"],
        run: async (ask) =>
          json(
            await ask.agent.capabilities.read(idIn(ask), readQuery(ask.request, OperationsQuery)),
          ),
      },
      PATCH: {
        rights: ["lend"],
        run: async (ask) =>
          json(
            await ask.agent.capabilities.change(
              idIn(ask),
              await readJson(ask.request, CapabilityChanges),
            ),
          ),
      },
      DELETE: {
        rights: ["lend"],
        run: async (ask) => {
          readQuery(ask.request, NoQuery);
          await ask.agent.capabilities.detach(idIn(ask));
          return noContent();
        },
      },
    },
  },
  {
    path: "/capabilities/:capability/call",
    methods: { POST: { rights: ["lend"], run: call } },
  },
  {
    path: "/capabilities/:capability/refresh",
    methods: {
      POST: {
        rights: ["lend"],
        run: async (ask) => json(await ask.agent.capabilities.refresh(idIn(ask))),
      },
    },
  },
  {
    path: "/sessions/:session/grants",
    methods: {
      PUT: {
        rights: ["lend"],
        run: async (ask) => {
          const session = ask.agent.session(ask.name("session"));
          await session.deliverGrants(await readJson(ask.request, GrantsDelivery));
          return noContent();
        },
      },
    },
  },
];

/** The caller that leaves takes its call with it; so does a host that goes down. */
async function call(ask: Ask): Promise<Response> {
  const id = idIn(ask);
  const asked = await readJson(ask.request, CallRequest);
  const signal = AbortSignal.any([ask.request.signal, ask.streams.drained]);
  return json(await ask.agent.capabilities.call(id, asked, { signal }));
}

function idIn(ask: Ask): string {
  return check(CapabilityId, ask.name("capability"), "capability");
}
