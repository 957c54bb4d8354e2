// Settings of a session that only its log holds: which deferred tools its conversation has activated.

import type { Sql } from "../store/sql.ts";

/** Names of the activated tools, as the newest entry that names them says. */
export function activatedTools(sql: Sql, sid: number): string[] {
  const [session] = sql.all<{ tools: string | null }>(
    "select tools from session where sid = ?",
    sid,
  );
  return session?.tools ? (JSON.parse(session.tools) as string[]) : [];
}
