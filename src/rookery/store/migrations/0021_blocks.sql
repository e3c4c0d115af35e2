-- What each session has said and done, piece by piece. Bodies stand last: a search by kind reads
-- only the first page of a row.
create table blocks (
    id      integer primary key autoincrement,        -- never used again: it shows what is new
    session text not null references sessions (id),
    number  integer not null check (number > 0),      -- from 1 in each session, without gaps
    kind    text not null,
    at      text not null,
    failed  integer not null default 0,
    tool    text not null default '',
    call_id text not null default '',
    data    text not null default '',                 -- a JSON object; empty if it has no field
    text    text not null default '',
    unique (session, number)
) strict;

-- The last block of a session that was shown in a channel.
alter table foregrounds add column seen_block integer not null default 0;
