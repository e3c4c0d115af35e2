-- How far each file was read that a session writes: its transcript, and those of its subagents.
drop table transcripts;
create table transcripts (
    session text not null references sessions (id),
    path    text not null,
    due     integer,                          -- the entry that calls for a reading; null: none does
    offset  integer not null default 0,
    mark    text not null default '',         -- of what stands before the offset: a digest
    since   text not null,                    -- what was used until then does not count
    until   text not null default '',         -- the latest that was counted
    seen    text not null default '{}',       -- what must not be counted twice, as JSON
    primary key (session, path)
) strict, without rowid;

create index transcripts_due on transcripts (session) where due is not null;

alter table tallies add column turns integer not null default 0;
alter table tallies add column input_tokens integer not null default 0;
alter table tallies add column output_tokens integer not null default 0;
alter table tallies add column cost integer;  -- micro-dollars; null: nobody knows
-- The most expensive among them.
alter table tallies add column dearest text;
alter table tallies add column dearest_cost integer;
alter table tallies add column dearest_tokens integer not null default 0;
