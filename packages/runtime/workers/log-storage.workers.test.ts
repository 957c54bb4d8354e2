import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { sqlOf } from "../src/host/cloudflare.ts";
import { blobContract } from "../test/blob.contract.ts";
import { searchContract } from "../test/search.contract.ts";
import type { WithSql } from "../test/sql.contract.ts";

const inObject: WithSql = (body) =>
  runInDurableObject(
    env.PLACE.getByName(crypto.randomUUID()),
    (_place: unknown, state: DurableObjectState) => body(sqlOf(state.storage)),
  );

blobContract("a Durable Object", inObject);
searchContract("a Durable Object", inObject);
