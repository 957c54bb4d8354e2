// Large stores in seconds: a session that Lichen itself wrote is copied, row by row, inside SQLite.
//
// The one place here that knows the tables. It works on a store that nobody has open, and what it makes is read back
// through Lichen by whoever measures with it.

import { DatabaseSync } from "node:sqlite";

/** Row keys of entries carry their session's number above these bits. */
const span = 2 ** 30;
const messageKinds = "'message.user', 'message.assistant', 'message.tool', 'line'";

interface Template {
  readonly sid: number;
  readonly id: string;
  readonly key: string;
  readonly head: number;
  readonly leaf: number;
  readonly info: string;
}

/** What a session says of its own length. */
interface Grown {
  head: number;
  leaf: string;
  turns: number;
  events?: number;
}

/** Makes `count` further sessions like `template`, named `other-1` and so on. */
export function multiplySession(path: string, template: string, count: number): void {
  edit(path, (db) => {
    const { sid, id, key } = templateOf(db, template);
    const { base } = db.prepare("select max(sid) as base from session").get() as { base: number };
    const rows = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})`;
    const newKey = "('k' || printf('%011d', n.i))";
    const shifted = (column: string) => `t.${column} + (${base - sid} + n.i) * ${span}`;
    copy(db, rows, "session", `t.sid = ${sid}`, {
      sid: `${base} + n.i`,
      id: "'other-' || n.i",
      key: newKey,
      leaf: shifted("leaf"),
      info: `replace(replace(t.info, '${key}', ${newKey}), '"session":"${id}"', '"session":"other-' || n.i || '"')`,
    });
    copy(db, rows, "entry", inSession("t.eid", sid), {
      eid: shifted("eid"),
      parent: shifted("parent"),
      data: `replace(t.data, '${key}', ${newKey})`,
    });
    copy(db, rows, "command", inSession("t.cid", sid), {
      cid: shifted("cid"),
      started: shifted("started"),
      settled: shifted("settled"),
    });
    copy(db, rows, "request", `t.sid = ${sid}`, {
      session: "'other-' || n.i",
      sid: `${base} + n.i`,
      receipt: `replace(t.receipt, '${key}', ${newKey})`,
    });
    index(db, (base + 1) * span, (base + count + 1) * span);
    db.exec(`insert into search_cursor (sid, indexed)
      select sid, head from session where sid > ${base} and sid <= ${base + count}`);
  });
}

/** Repeats what the session holds until it has at least `entries` entries. */
export function lengthenSession(path: string, session: string, entries: number): void {
  edit(path, (db) => {
    const { sid, key, head, leaf, info } = templateOf(db, session);
    const copies = Math.ceil(entries / head) - 1;
    if (copies < 1) return;
    const rows = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${copies})`;
    const shifted = (column: string) => `t.${column} + n.i * ${head}`;
    copy(db, rows, "entry", inSession("t.eid", sid), {
      eid: shifted("eid"),
      parent: `coalesce(t.parent, ${leaf} - ${head}) + n.i * ${head}`,
      command: shifted("command"),
      request: "t.request || '-' || n.i",
    });
    copy(db, rows, "command", inSession("t.cid", sid), {
      cid: shifted("cid"),
      started: shifted("started"),
      settled: shifted("settled"),
      request: "t.request || '-' || n.i",
    });
    const last = copies * head;
    const grown = JSON.parse(info) as Grown;
    grown.head = head + last;
    if (grown.events !== undefined) {
      copy(db, rows, "event", `t.sid = ${sid}`, {
        n: `t.n + n.i * ${grown.events}`,
        eid: shifted("eid"),
      });
      grown.events *= copies + 1;
    }
    grown.leaf = `ent_${key}_${(leaf % span) + last}`;
    grown.turns *= copies + 1;
    db.prepare("update session set head = ?, leaf = ?, info = ? where sid = ?").run(
      grown.head,
      leaf + last,
      JSON.stringify(grown),
      sid,
    );
    index(db, sid * span + head + 1, (sid + 1) * span);
    db.exec(`insert or replace into search_cursor (sid, indexed) values (${sid}, ${grown.head})`);
  });
}

/** What the only session of a store is called, and how much it holds. */
export function storeBytes(path: string): { session: string; entries: number; bytes: number } {
  const db = new DatabaseSync(path);
  try {
    return db
      .prepare(
        `select session.id as session, head as entries, sum(length(entry.data)) as bytes
         from session join entry on eid / ${span} = sid where session.deleted = 0 group by sid`,
      )
      .get() as { session: string; entries: number; bytes: number };
  } finally {
    db.close();
  }
}

function edit(path: string, change: (db: DatabaseSync) => void): void {
  const db = new DatabaseSync(path);
  try {
    db.exec("pragma synchronous = off; pragma cache_size = -262144");
    db.exec("begin immediate");
    change(db);
    db.exec("commit");
    db.exec("pragma wal_checkpoint(truncate)");
  } finally {
    db.close();
  }
}

function templateOf(db: DatabaseSync, session: string): Template {
  const row = db
    .prepare("select sid, id, key, head, leaf, info from session where id = ? and deleted = 0")
    .get(session);
  if (!row) throw new Error(`There is no session ${session} to copy.`);
  return row as unknown as Template;
}

function inSession(column: string, sid: number): string {
  return `${column} > ${sid * span} and ${column} < ${(sid + 1) * span}`;
}

/** Copies the rows of a table that `where` picks, once per `n.i`, with some columns made anew. */
function copy(
  db: DatabaseSync,
  rows: string,
  table: string,
  where: string,
  changed: Readonly<Record<string, string>>,
): void {
  const columns = db.prepare(`select name from pragma_table_info('${table}')`).all() as {
    name: string;
  }[];
  const names = columns.map(({ name }) => name);
  const values = names.map((name) => changed[name] ?? `t.${name}`);
  db.exec(
    `insert into ${table} (${names.join(", ")}) ${rows} select ${values.join(", ")} from n, ${table} t where ${where}`,
  );
}

/** Puts the messages with row keys from `first` to below `last` into the search index. Seeded texts are plain ASCII. */
function index(db: DatabaseSync, first: number, last: number): void {
  const text = "coalesce(data ->> '$.text', data ->> '$.content[0].text')";
  db.exec(`insert into search (rowid, text) select eid, lower(${text}) from entry
    where eid >= ${first} and eid < ${last} and kind in (${messageKinds}) and ${text} is not null`);
}
