// Words that look like secrets, where a name belongs: they stay out of the shell's history and of every row.

/** How keys and tokens of well-known services begin. */
const beginnings =
  /^(?:gh[opsur]_|github_pat_|glpat-|sk[-_]|pk_live|rk_live|xox[abprs]-|AKIA|ASIA|AIza|ya29\.|eyJ|hf_|npm_|Bearer\s|Basic\s)/;

/** Whether a word is more likely a secret than a name, a path or an address. */
export function looksLikeSecret(word: string): boolean {
  if (beginnings.test(word)) return true;
  if (word.length < 20 || !/^[A-Za-z0-9_+/=.-]+$/.test(word)) return false;
  // A name in capitals with underscores, a path, a file, a package.
  if (/^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/.test(word) || /[/.]/.test(word)) return false;
  const kinds = [/[a-z]/, /[A-Z]/, /\d/].filter((kind) => kind.test(word)).length;
  return kinds === 3 || (/^[0-9a-f]{32,}$/i.test(word) && /\d/.test(word));
}

/** Why an address cannot be taken: it carries a secret, which would be kept with it. */
export function secretInUrl(url: URL): string | undefined {
  if (url.username !== "" || url.password !== "") return "holds a name or a password";
  for (const [name, value] of url.searchParams)
    if (looksLikeSecret(value) || /(?:key|token|secret|password|signature)$/i.test(name))
      return `has the parameter ${JSON.stringify(name)}, which looks like a secret`;
  return undefined;
}
