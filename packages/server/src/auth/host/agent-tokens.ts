// One agent's rows in `credentials.db`: logins, leases and registrations, by capability.
//
//   A login's version rises with every change of its row, and stays when it is signed out.
//   A lease's number rises whenever it changes hands; a write under an older number changes nothing.

import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import * as z from "zod";
import type {
  Lease,
  LeaseState,
  Login,
  Registration,
  StoredLogin,
  TokenStore,
} from "../token-store.ts";

/** How bodies run: in a transaction, or just reading. */
interface Guarded {
  change<T>(body: () => T): T;
  look<T>(body: () => T): T;
}

const text = z.string().nullable();
const time = z.number().nullable();

const LoginRow = z.object({
  version: z.number(),
  type: z.enum(["oauth", "client_credentials"]),
  issuer: z.string(),
  client_id: z.string(),
  resource: text,
  indicator: text,
  access: z.string(),
  refresh: text,
  expires_at: time,
  scopes: z
    .string()
    .transform((json) => z.array(z.string()).parse(JSON.parse(json)))
    .nullable(),
  refused: z.number(),
});

const LeaseRow = z.object({
  fence: z.number(),
  owner: text,
  expires_at: z.number(),
  failure: text,
});

const RegistrationRow = z.object({
  issuer: z.string(),
  client_id: z.string(),
  client_secret: text,
  secret_expires_at: time,
  auth_method: z.string(),
  redirect_uri: z.string(),
});

/** No lease is longer: one that seems to be was given before the clock was set back. */
const longestLeaseMs = 900_000;

export class AgentTokens implements TokenStore {
  readonly #db: DatabaseSync;
  readonly #agent: string;
  readonly #guarded: Guarded;
  readonly #statements = new Map<string, StatementSync>();

  constructor(db: DatabaseSync, agent: string, guarded: Guarded) {
    this.#db = db;
    this.#agent = agent;
    this.#guarded = guarded;
  }

  read(id: string): StoredLogin | undefined {
    return this.#guarded.look(() => this.#read(id));
  }

  put(id: string, login: Login, registration?: Registration): StoredLogin {
    return this.#guarded.change(() => {
      this.#supersede(id);
      if (registration) this.#register(id, registration);
      return this.#write(id, login);
    });
  }

  clear(id: string): void {
    this.#guarded.change(() => {
      this.#supersede(id);
      this.#run(
        "update login set version = version + 1, type = null, access = null, refresh = null where agent = ? and capability = ?",
        id,
      );
      this.#run("delete from registration where agent = ? and capability = ?", id);
    });
  }

  lease(id: string, owner: string, now: number, ms: number): Lease | LeaseState {
    return this.#guarded.change(() => {
      const held = this.#lease(id, now);
      if (held.isHeld) return held;
      const fence = held.fence + 1;
      this.#run(
        `insert into lease (agent, capability, fence, owner, expires_at) values (?, ?, ?, ?, ?)
         on conflict do update set fence = excluded.fence, owner = excluded.owner, expires_at = excluded.expires_at, failure = null`,
        id,
        fence,
        owner,
        now + Math.min(ms, longestLeaseMs),
      );
      return { id, owner, fence };
    });
  }

  leaseState(id: string, now: number): LeaseState {
    return this.#guarded.look(() => this.#lease(id, now));
  }

  renewed(lease: Lease, login: Login): StoredLogin | undefined {
    return this.#guarded.change(() =>
      this.#giveBack(lease, null) ? this.#write(lease.id, login) : undefined,
    );
  }

  release(lease: Lease, failure?: { readonly message: string; readonly isRefused: boolean }): void {
    this.#guarded.change(() => {
      if (!this.#giveBack(lease, failure?.message ?? null) || !failure?.isRefused) return;
      this.#run("update login set refused = 1 where agent = ? and capability = ?", lease.id);
    });
  }

  registration(id: string): Registration | undefined {
    return this.#guarded.look(() => {
      const found = this.#get("select * from registration where agent = ? and capability = ?", id);
      if (!found) return undefined;
      const row = RegistrationRow.parse(found);
      return {
        issuer: row.issuer,
        clientId: row.client_id,
        ...(row.client_secret !== null && { clientSecret: row.client_secret }),
        ...(row.secret_expires_at !== null && { secretExpiresAt: row.secret_expires_at }),
        authMethod: row.auth_method,
        redirectUri: row.redirect_uri,
      };
    });
  }

  #register(id: string, client: Registration): void {
    this.#run(
      "insert or replace into registration (agent, capability, issuer, client_id, client_secret, secret_expires_at, auth_method, redirect_uri) values (?, ?, ?, ?, ?, ?, ?, ?)",
      id,
      client.issuer,
      client.clientId,
      client.clientSecret ?? null,
      client.secretExpiresAt ?? null,
      client.authMethod,
      client.redirectUri,
    );
  }

  #read(id: string): StoredLogin | undefined {
    const found = this.#get(
      "select * from login where agent = ? and capability = ? and access is not null",
      id,
    );
    if (!found) return undefined;
    const row = LoginRow.parse(found);
    return {
      version: row.version,
      isRefused: row.refused !== 0,
      source: {
        type: row.type,
        issuer: row.issuer,
        clientId: row.client_id,
        ...(row.resource !== null && { resource: row.resource }),
        ...(row.indicator !== null && { indicator: row.indicator }),
      },
      tokens: {
        access: row.access,
        ...(row.refresh !== null && { refresh: row.refresh }),
        ...(row.expires_at !== null && { expiresAt: row.expires_at }),
        ...(row.scopes !== null && { scopes: row.scopes }),
      },
    };
  }

  #write(id: string, { source, tokens }: Login): StoredLogin {
    this.#run(
      `insert into login (agent, capability, version, type, issuer, client_id, resource, indicator, access, refresh, expires_at, scopes)
       values (?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       on conflict do update set version = version + 1, type = excluded.type, issuer = excluded.issuer, client_id = excluded.client_id,
         resource = excluded.resource, indicator = excluded.indicator, access = excluded.access, refresh = excluded.refresh,
         expires_at = excluded.expires_at, scopes = excluded.scopes, refused = 0`,
      id,
      source.type,
      source.issuer,
      source.clientId,
      source.resource ?? null,
      source.indicator ?? null,
      tokens.access,
      tokens.refresh ?? null,
      tokens.expiresAt ?? null,
      tokens.scopes ? JSON.stringify(tokens.scopes) : null,
    );
    const stored = this.#read(id);
    if (!stored) throw new Error("A login that was just written is not there.");
    return stored;
  }

  #lease(id: string, now: number): LeaseState {
    const found = this.#get(
      "select fence, owner, expires_at, failure from lease where agent = ? and capability = ?",
      id,
    );
    if (!found) return { fence: 0, isHeld: false };
    const row = LeaseRow.parse(found);
    const isHeld =
      row.owner !== null && row.expires_at > now && row.expires_at <= now + longestLeaseMs;
    return { fence: row.fence, isHeld, ...(row.failure !== null && { failure: row.failure }) };
  }

  /** Whether it was still the lease's to give. */
  #giveBack({ id, fence, owner }: Lease, failure: string | null): boolean {
    const { changes } = this.#statement(
      "update lease set owner = null, failure = ? where agent = ? and capability = ? and fence = ? and owner = ?",
    ).run(failure, this.#agent, id, fence, owner);
    return changes === 1;
  }

  #supersede(id: string): void {
    this.#run(
      `insert into lease (agent, capability, fence) values (?, ?, 1)
       on conflict do update set fence = fence + 1, owner = null, failure = null`,
      id,
    );
  }

  #get(statement: string, id: string): unknown {
    return this.#statement(statement).get(this.#agent, id);
  }

  /** Agent and capability are the first two arguments of every statement. */
  #run(statement: string, id: string, ...args: SQLInputValue[]): void {
    this.#statement(statement).run(this.#agent, id, ...args);
  }

  /** Prepared once: each call of a capability reads its login. */
  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}
