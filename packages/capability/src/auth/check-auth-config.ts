// Auth as somebody wrote it, checked before it is stored: a word that is no setting, or a secret where its name belongs,
// is refused.

import type { AuthConfig } from "./auth-config.ts";

type Check = (value: unknown) => string | undefined;

const text: Check = (value) =>
  typeof value === "string" && value !== "" && value.length <= 2_000
    ? undefined
    : "must be a text of 1 to 2000 characters";
const header: Check = (value) =>
  typeof value === "string" && /^[A-Za-z0-9-]{1,100}$/.test(value)
    ? undefined
    : "must be the name of a header";
const format: Check = (value) =>
  typeof value === "string" && value.length <= 200 && value.split("{}").length === 2
    ? undefined
    : "must hold {} once, where the secret goes";
const secretName: Check = (value) =>
  typeof value === "string" && /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(value)
    ? undefined
    : "must be the name of a secret, and never the secret itself";
const address: Check = (value) =>
  typeof value === "string" && /^https?:$/.test(protocolOf(value))
    ? undefined
    : "must be an http or https URL";
const texts: Check = (value) =>
  Array.isArray(value) && value.length <= 100 && value.every((item) => text(item) === undefined)
    ? undefined
    : "must be a list of texts";

/** By type: the settings there are, and those that must be there. */
const types: Readonly<Record<AuthConfig["type"], Readonly<Record<string, Check>>>> = {
  none: {},
  header: { header, format, secret: secretName },
  oauth: { issuer: address, scopes: texts, clientId: text, clientSecret: secretName },
  client_credentials: { issuer: address, scopes: texts, clientId: text, clientSecret: secretName },
};
const needed: Readonly<Record<AuthConfig["type"], readonly string[]>> = {
  none: [],
  header: ["secret"],
  oauth: [],
  client_credentials: ["issuer", "clientId", "clientSecret"],
};

/** The auth itself, or what is wrong with it, without a word of what was written. */
export function checkAuthConfig(
  value: unknown,
): { readonly auth: AuthConfig } | { readonly problem: string } {
  if (typeof value !== "object" || value === null || !("type" in value))
    return { problem: `auth needs a type: ${Object.keys(types).join(", ")}` };
  const { type, ...settings } = value;
  if (typeof type !== "string" || !isType(type))
    return { problem: `auth.type must be one of ${Object.keys(types).join(", ")}` };
  const known = types[type];
  for (const [name, setting] of Object.entries(settings)) {
    if (setting === undefined) continue;
    const check = Object.hasOwn(known, name) ? known[name] : undefined;
    if (!check)
      return {
        problem: `auth of type ${type} has a setting that it does not know; it knows: ${Object.keys(known).join(", ") || "none"}`,
      };
    const wrong = check(setting);
    if (wrong !== undefined) return { problem: `auth.${name} ${wrong}` };
  }
  const missing = needed[type].find((name) => !Object.hasOwn(settings, name));
  if (missing !== undefined) return { problem: `auth of type ${type} needs ${missing}` };
  return { auth: value as AuthConfig };
}

function isType(type: string): type is AuthConfig["type"] {
  return Object.hasOwn(types, type);
}

function protocolOf(url: string): string {
  try {
    return new URL(url).protocol;
  } catch {
    return "";
  }
}
