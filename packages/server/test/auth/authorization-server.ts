// An authorization server and a resource that it protects, on loopback: discovery, registration, PKCE, refresh tokens
// that rotate and whose second use ends the whole family, revocation. Whatever it hands out says `canary`, so that a
// test can look for it everywhere.

import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

interface Family {
  isRevoked: boolean;
  readonly scope: string;
  readonly resource: string | undefined;
  readonly clientId: string;
  current: string;
}

interface Code {
  readonly challenge: string;
  readonly redirectUri: string;
  readonly scope: string;
  readonly resource: string | undefined;
  readonly clientId: string;
}

type Answer = (
  request: IncomingMessage,
  response: ServerResponse,
  form: URLSearchParams,
) => boolean;

export class AuthorizationServer {
  readonly origin: string;
  readonly #server: ReturnType<typeof createServer>;
  readonly #codes = new Map<string, Code>();
  readonly #refresh = new Map<string, Family>();
  readonly #access = new Map<string, Family>();
  readonly #clients = new Map<string, { secret?: string; redirectUris: readonly string[] }>();
  readonly #secrets = new Set<string>();

  /** In s; left out of the answer where undefined. */
  expiresIn: number | undefined = 3_600;
  /** Whether a client gets a secret when it registers. */
  givesSecret = false;
  /** Fields that stand in place of those of the metadata. */
  metadata: Record<string, unknown> = {};
  resourceMetadata: Record<string, unknown> = {};
  /** Fields that stand in place of those of an answer with tokens. */
  tokenAnswer: Record<string, unknown> = {};
  /** What the redirect says in place of what is right. */
  redirect: Record<string, string | undefined> = {};
  /** Answers a request in place of the server, where it says so. */
  instead: Answer = () => false;
  /** Before a token is rotated, and after. */
  beforeRotation: () => Promise<void> = async () => {};
  afterRotation: () => Promise<void> = async () => {};
  /** Every form that the token endpoint was sent, without what is secret. */
  readonly asked: { grant: string; scope: string | null; resource: string | null }[] = [];
  readonly paths: string[] = [];
  /** Refresh tokens that were taken, and families that a second use has ended. */
  rotations = 0;
  reuses = 0;
  registrations = 0;
  revocations = 0;

  private constructor(server: ReturnType<typeof createServer>) {
    this.#server = server;
    this.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  static async open(): Promise<AuthorizationServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new AuthorizationServer(server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get resource(): string {
    return `${this.origin}/mcp`;
  }

  /** Everything secret that it ever gave or was told. */
  get secrets(): readonly string[] {
    return [...this.#secrets];
  }

  /** A client that its owner registered by hand. */
  addClient(id: string, secret?: string): void {
    this.#clients.set(id, { ...(secret && { secret }), redirectUris: [] });
    if (secret) this.#secrets.add(secret);
  }

  /** A signed-in family, as if a person had been here before. */
  grant(clientId: string, scope = "read write", resource?: string): Record<string, unknown> {
    return this.#issue({ isRevoked: false, scope, resource, clientId, current: "" });
  }

  isGood(access: string): boolean {
    return this.#access.get(access)?.isRevoked === false;
  }

  /** The resource takes this token no longer, though it has not expired. */
  forget(access: string): void {
    this.#access.delete(access);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.origin);
    const body = await text(request);
    const form = new URLSearchParams(request.method === "POST" ? body : url.searchParams);
    this.paths.push(`${request.method} ${url.pathname}`);
    if (this.instead(request, response, form)) return;
    switch (url.pathname) {
      case "/.well-known/oauth-authorization-server":
        return json(response, 200, {
          issuer: this.origin,
          authorization_endpoint: `${this.origin}/authorize`,
          token_endpoint: `${this.origin}/token`,
          registration_endpoint: `${this.origin}/register`,
          revocation_endpoint: `${this.origin}/revoke`,
          code_challenge_methods_supported: ["S256"],
          authorization_response_iss_parameter_supported: true,
          token_endpoint_auth_methods_supported: this.givesSecret
            ? ["client_secret_basic"]
            : ["none", "client_secret_basic"],
          ...this.metadata,
        });
      case "/.well-known/oauth-protected-resource/mcp":
        return json(response, 200, {
          resource: this.resource,
          authorization_servers: [this.origin],
          scopes_supported: ["read", "write"],
          ...this.resourceMetadata,
        });
      case "/register":
        return this.#register(response, JSON.parse(body) as { redirect_uris: string[] });
      case "/authorize":
        return this.#authorize(response, form);
      case "/token":
        return this.#token(request, response, form);
      case "/revoke": {
        const token = form.get("token") ?? "";
        const family = this.#refresh.get(token) ?? this.#access.get(token);
        if (family) family.isRevoked = true;
        this.revocations++;
        return json(response, 200, {});
      }
      case "/mcp": {
        const token = request.headers.authorization?.replace(/^Bearer /, "") ?? "";
        if (this.isGood(token)) return json(response, 200, { hello: "world" });
        response.setHeader("www-authenticate", `Bearer error="invalid_token", scope="read"`);
        return json(response, 401, {});
      }
      default:
        return json(response, 404, {});
    }
  }

  #register(response: ServerResponse, { redirect_uris }: { redirect_uris: string[] }): void {
    this.registrations++;
    const id = `client-${this.registrations}`;
    const secret = this.givesSecret ? this.#secret("client") : undefined;
    this.#clients.set(id, { ...(secret && { secret }), redirectUris: redirect_uris });
    json(response, 201, {
      client_id: id,
      redirect_uris,
      token_endpoint_auth_method: secret ? "client_secret_basic" : "none",
      ...(secret && { client_secret: secret, client_secret_expires_at: 0 }),
    });
  }

  #authorize(response: ServerResponse, form: URLSearchParams): void {
    const clientId = form.get("client_id") ?? "";
    const redirectUri = form.get("redirect_uri") ?? "";
    const client = this.#clients.get(clientId);
    const known =
      client && (client.redirectUris.length === 0 || client.redirectUris.includes(redirectUri));
    if (!known || form.get("code_challenge_method") !== "S256")
      return json(response, 400, { error: "invalid_request" });
    const code = this.#secret("code");
    this.#codes.set(code, {
      challenge: form.get("code_challenge") ?? "",
      redirectUri,
      scope: form.get("scope") ?? "",
      resource: form.get("resource") ?? undefined,
      clientId,
    });
    const back = new URL(redirectUri);
    const says = { code, state: form.get("state") ?? "", iss: this.origin, ...this.redirect };
    for (const [name, value] of Object.entries(says))
      if (value !== undefined) back.searchParams.set(name, value);
    response.writeHead(302, { location: back.href }).end();
  }

  async #token(
    request: IncomingMessage,
    response: ServerResponse,
    form: URLSearchParams,
  ): Promise<void> {
    const grant = form.get("grant_type") ?? "";
    this.asked.push({ grant, scope: form.get("scope"), resource: form.get("resource") });
    const [id, secret] = clientOf(request, form);
    const client = this.#clients.get(id);
    if (!client || client.secret !== secret)
      return json(response, 401, { error: "invalid_client" });
    const refused = (): void =>
      json(response, 400, { error: "invalid_grant", error_description: form.toString() });
    if (grant === "client_credentials") {
      const { refresh_token: _, ...rest } = this.grant(id, form.get("scope") ?? "");
      return json(response, 200, { ...rest, ...this.tokenAnswer });
    }
    if (grant === "authorization_code") {
      const code = this.#codes.get(form.get("code") ?? "");
      this.#codes.delete(form.get("code") ?? "");
      const digest = createHash("sha256").update(form.get("code_verifier") ?? "");
      this.#secrets.add(form.get("code_verifier") ?? "");
      const isRight =
        code?.challenge === digest.digest("base64url") &&
        code.redirectUri === form.get("redirect_uri") &&
        code.clientId === id;
      if (!code || !isRight) return refused();
      const tokens = this.grant(id, code.scope, code.resource);
      return json(response, 200, { ...tokens, ...this.tokenAnswer });
    }
    const token = form.get("refresh_token") ?? "";
    const family = this.#refresh.get(token);
    if (!family || family.isRevoked || family.clientId !== id) return refused();
    await this.beforeRotation();
    if (family.current !== token) {
      this.reuses++;
      family.isRevoked = true;
      return refused();
    }
    this.rotations++;
    const tokens = this.#issue(family);
    await this.afterRotation();
    json(response, 200, { ...tokens, ...this.tokenAnswer });
  }

  #issue(family: Family): Record<string, unknown> {
    const [access, refresh] = [this.#secret("access"), this.#secret("refresh")];
    family.current = refresh;
    this.#access.set(access, family);
    this.#refresh.set(refresh, family);
    return {
      access_token: access,
      refresh_token: refresh,
      token_type: "Bearer",
      scope: family.scope,
      ...(this.expiresIn !== undefined && { expires_in: this.expiresIn }),
    };
  }

  #secret(kind: string): string {
    const secret = `canary-${kind}-${randomBytes(12).toString("hex")}`;
    this.#secrets.add(secret);
    return secret;
  }
}

function clientOf(request: IncomingMessage, form: URLSearchParams): [string, string | undefined] {
  const basic = request.headers.authorization?.match(/^Basic (.*)$/)?.[1];
  if (basic === undefined)
    return [form.get("client_id") ?? "", form.get("client_secret") ?? undefined];
  const [id = "", secret] = Buffer.from(basic, "base64").toString().split(":");
  return [decodeURIComponent(id), decodeURIComponent(secret ?? "")];
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
