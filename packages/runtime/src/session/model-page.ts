// The models of an agent's engine, as far as they were asked for.

import { type ModelPage, ModelQuery } from "@lichen/wire";
import type { Engine } from "../engine/port.ts";
import { parsed } from "./parsed.ts";

const pageLimit = 200;

/** Those that are ready first, else in the engine's own order. An engine without models answers an empty page. */
export async function modelPage(engine: Engine | undefined, query: ModelQuery): Promise<ModelPage> {
  const { q = "", limit = pageLimit } = parsed(ModelQuery, query);
  const { models, default: ownModel, reasoning } = (await engine?.models?.()) ?? { models: [] };
  const part = q.toLowerCase();
  const found = models
    .filter(({ model, name = "" }) =>
      [model, name].some((text) => text.toLowerCase().includes(part)),
    )
    .toSorted((a, b) => Number(b.isReady) - Number(a.isReady));
  return {
    models: found.slice(0, limit),
    ...(ownModel === undefined ? {} : { default: ownModel }),
    ...(reasoning === undefined ? {} : { reasoning }),
    more: found.length > limit,
  };
}
