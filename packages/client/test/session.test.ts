import { type LocalOwner, localClient } from "../src/index.ts";
import { openTestHost } from "./host.ts";
import { sessionContract } from "./session.contract.ts";

sessionContract("across HTTP", async (script) => {
  const host = await openTestHost({ script });
  return { client: host.client(), [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() };
});

sessionContract("in this process", async (script) => {
  const host = await openTestHost({ script });
  // A runtime's owner fits as it is.
  const owner: LocalOwner = host.owner;
  return { client: localClient(owner), [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() };
});
