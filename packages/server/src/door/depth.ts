// How deep JSON from outside may be nested: no honest caller sends more, and whoever walks through it has an end.

export const maxDepth = 100;

export function isTooDeep(value: unknown, levels = maxDepth): boolean {
  if (value === null || typeof value !== "object") return false;
  if (levels === 0) return true;
  return Object.values(value).some((member) => isTooDeep(member, levels - 1));
}
