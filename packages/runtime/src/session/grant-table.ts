// The table of delivered grants.

export const grantTables: readonly string[] = [];
