import { type LocalOwner, localClient } from "../src/index.ts";
import { capabilitiesContract } from "./capabilities.contract.ts";
import { openTestHost, type TestHostOptions } from "./host.ts";
import { modelsContract } from "./models.contract.ts";
import { sessionContract } from "./session.contract.ts";

sessionContract("across HTTP", (script) => openRemote({ script }));
modelsContract("across HTTP", (models) => openRemote(models === undefined ? {} : { models }));
capabilitiesContract("across HTTP", (notes) =>
  openRemote(notes === undefined ? {} : { capabilities: notes.options }),
);

sessionContract("in this process", (script) => openLocal({ script }));
modelsContract("in this process", (models) => openLocal(models === undefined ? {} : { models }));
capabilitiesContract("in this process", (notes) =>
  openLocal(notes === undefined ? {} : { capabilities: notes.options }),
);

async function openRemote(options: TestHostOptions) {
  const host = await openTestHost(options);
  return { client: host.client(), [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() };
}

async function openLocal(options: TestHostOptions) {
  const host = await openTestHost(options);
  // A runtime's owner fits as it is.
  const owner: LocalOwner = host.owner;
  return { client: localClient(owner), [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() };
}
