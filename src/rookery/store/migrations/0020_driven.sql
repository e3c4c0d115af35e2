-- How far the event stream of each driven session is recorded, and its agent's own running total
-- of the conversation's cost in micro-dollars.
create table driven_streams (
    session    text primary key references sessions (id),
    number     integer not null default 0,
    total_cost integer
) strict, without rowid;

-- The stream of a driven session is a further source of evidence.
create table evidence_with_streams (
    session text not null references sessions (id),
    source  text not null check (source in
        ('stream', 'hook', 'registry', 'transcript', 'process', 'screen')),
    claim   text not null,
    detail  text not null default '',
    at      text not null,
    primary key (session, source)
) strict, without rowid;
insert into evidence_with_streams (session, source, claim, detail, at)
    select session, source, claim, detail, at from evidence;
drop table evidence;
alter table evidence_with_streams rename to evidence;
