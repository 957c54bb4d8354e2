// Where others reach a listener, of all the addresses that it is bound to.

/**
 * The addresses, as URLs, at which other computers can reach a listener that has these `host:port` pairs: none of loopback,
 * and none that means something only together with an interface's name.
 */
export function urlsBeyond(boundTo: Iterable<string>): string[] {
  return [...boundTo].flatMap((pair) => {
    const url = URL.parse(`http://${pair}`);
    return url && !/^(127\.|169\.254\.|\[::1\]$|\[fe[89ab])/.test(url.hostname) ? [url.origin] : [];
  });
}
