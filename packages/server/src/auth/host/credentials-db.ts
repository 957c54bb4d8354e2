// `credentials.db`: the sign-ins of agents' connections, in one SQLite file that any process of this user may open.

import { openPrivateDb } from "../../host/private-db.ts";
import type { TokenStore } from "../token-store.ts";
import { AgentTokens } from "./agent-tokens.ts";

export interface Credentials {
  /** What is kept for one agent. */
  of(agentId: string): TokenStore;
  /** Safe to call twice. */
  close(): void;
}

const schemaVersion = 1;

const schema = `
  create table if not exists login (
    agent text not null, capability text not null, version integer not null,
    type text, issuer text, client_id text, resource text, indicator text,
    access text, refresh text, expires_at integer, scopes text, refused integer not null default 0,
    primary key (agent, capability)
  ) strict;
  create table if not exists lease (
    agent text not null, capability text not null, fence integer not null,
    owner text, expires_at integer not null default 0, failure text,
    primary key (agent, capability)
  ) strict;
  create table if not exists registration (
    agent text not null, capability text not null, issuer text not null, client_id text not null, client_secret text,
    secret_expires_at integer, auth_method text not null, redirect_uri text not null,
    primary key (agent, capability)
  ) strict;
`;

/** Opens the file, or makes it. Throws a `Fault`. */
export async function openCredentials(path: string): Promise<Credentials> {
  const file = await openPrivateDb({
    path,
    schema,
    version: schemaVersion,
    again: "sign in again",
  });
  return { of: (agentId) => new AgentTokens(file.db, agentId, file), close: () => file.close() };
}
