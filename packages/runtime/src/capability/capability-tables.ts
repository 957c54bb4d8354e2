// The tables of an agent's capabilities: their rows as texts in parts, and the events that are yet to be told.
//
// A row may hold megabytes of schemas, so no part is larger than a row may be. `version` is of the text that the part
// belongs to: salvage tells by it which of several it finds is the newest.

export const capabilityTables: readonly string[] = [
  `create table capability_part (
    own integer primary key, aid integer not null, id text not null, section text not null, part integer not null,
    parts integer not null, version integer not null, text text not null)`,
  "create unique index capability_part_by_id on capability_part(aid, id, section, part)",
  `create table capability_event (
    own integer primary key, aid integer not null, revision integer not null, event text not null)`,
  "create unique index capability_event_by_revision on capability_event(aid, revision)",
];
