-- What sessions have to do with one another: who waits for whom, and who talks with whom.

-- Who speaks, in a line of its own above the words; empty for a person at this computer.
alter table messages add column envelope text not null default '';
-- Relays along the chain of causes, since a person or a direct message spoke.
alter table messages add column hops integer not null default 0;
alter table messages add column relay text;

create index messages_by_relay on messages (relay, id) where relay is not null;

-- Several listeners whose news is told at once, or at a deadline.
create table waits (
    id       integer primary key autoincrement,
    caller   text not null references sessions (id),
    needed   integer not null check (needed > 0),     -- so many of them have to be there
    deadline text
) strict;

create index waits_by_caller on waits (caller);
create index waits_by_deadline on waits (deadline) where deadline is not null;

-- What a wait has heard so far.
create table wait_news (
    wait   integer not null references waits (id) on delete cascade,
    target text not null,
    words  text not null,
    unique (wait, target)
) strict;

-- Who is to be told when a session stops. Once, and one for each pair.
create table listeners (
    target     text not null references sessions (id),
    caller     text not null references sessions (id),
    until      text not null default 'stop' check (until in ('stop', 'input', 'end', 'any')),
    is_lasting integer not null default 0,            -- told again and again
    message    integer,                               -- only the turn that took it up counts
    wait       integer references waits (id) on delete cascade,
    since      integer not null,                      -- the last entry before it
    asked      text not null default '',              -- the request it was told of last
    made_at    text not null,
    checked_at text not null,
    primary key (target, caller)
) strict, without rowid;

create index listeners_by_caller on listeners (caller);
create index listeners_by_check on listeners (checked_at);
create index listeners_by_wait on listeners (wait) where wait is not null;

-- Sessions that hear what the others answer.
create table relays (
    id           text primary key,
    created_at   text not null,
    created_by   text not null,
    pair         text,                                -- of a conversation of two: their ids
    max_hops     integer not null,
    max_a_minute integer not null,
    max_length   integer not null,                    -- characters of one answer
    closed_at    text,
    reason       text not null default '',
    stayed       text not null default ''             -- the limit that kept an answer back
) strict, without rowid;

create unique index one_open_relay_per_pair on relays (pair)
    where pair is not null and closed_at is null;
create index relays_open on relays (created_at) where closed_at is null;

create table relay_members (
    relay   text not null references relays (id),
    session text not null references sessions (id),
    name    text not null,
    number  integer not null,
    since   integer not null,                         -- the last entry before it joined
    left_at text,
    said    text not null default '',                 -- the digest of what it said last
    primary key (relay, session),
    unique (relay, number)
) strict, without rowid;

create index relay_members_by_session on relay_members (session) where left_at is null;
