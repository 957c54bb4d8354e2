// The tables of an agent's capabilities.

export const capabilityTables: readonly string[] = [];
