import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { sqlOf } from "../src/host/cloudflare.ts";
import { coreContract } from "../test/core.contract.ts";

coreContract("a Durable Object", (body) =>
  runInDurableObject(
    env.PLACE.getByName(crypto.randomUUID()),
    (_place: unknown, state: DurableObjectState) => body(sqlOf(state.storage)),
  ),
);
