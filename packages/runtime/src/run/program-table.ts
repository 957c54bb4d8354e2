// The tables of programs: the calls they made and the state they wait in.

export const programTables: readonly string[] = [];
