// Whether two values show the same, without reading what both share.

/** Same members to a depth of three; deeper ones by identity. */
export function alike(a: unknown, b: unknown, depth: number = 3): boolean {
  if (a === b) return true;
  if (depth === 0 || typeof a !== "object" || typeof b !== "object" || !a || !b) return false;
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length || Array.isArray(a) !== Array.isArray(b)) return false;
  return names.every((name) => alike(member(a, name), member(b, name), depth - 1));
}

function member(of: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(of, name)?.value;
}
