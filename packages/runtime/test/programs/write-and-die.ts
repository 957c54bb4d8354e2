// Commits the rows 1..N of its second argument one by one into the store of its first, then dies without closing it.

import { openSql } from "../../src/host/node/index.ts";

const [path, rows] = process.argv.slice(2);
const { sql } = await openSql(path!);
sql.run("create table item (n integer primary key, text text)");
for (let n = 1; n <= Number(rows); n++)
  sql.transact(() => sql.run("insert into item (n, text) values (?, ?)", n, "x".repeat(n * 300)));
await sql.durable();
process.kill(process.pid, "SIGKILL");
