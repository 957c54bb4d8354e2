import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { sqlOf } from "../src/host/cloudflare.ts";
import { crashPointsContract } from "../test/crash-points.contract.ts";
import { foldLawContract } from "../test/fold-law.contract.ts";
import { modelContract } from "../test/model.contract.ts";
import { placesContract } from "../test/places.contract.ts";
import { programLawContract } from "../test/program-properties.contract.ts";
import type { WithSql } from "../test/sql.contract.ts";

const inObject: WithSql = (body) =>
  runInDurableObject(
    env.PLACE.getByName(crypto.randomUUID()),
    (_place: unknown, state: DurableObjectState) => body(sqlOf(state.storage)),
  );

foldLawContract("a Durable Object", inObject, 5);
modelContract("a Durable Object", inObject, 10);
crashPointsContract("a Durable Object", inObject, 1);
placesContract("a Durable Object", inObject, 10);
programLawContract("a Durable Object", inObject, 10);
