-- Who may ask for what. A token is kept as a hash: who reads this file cannot use it.
create table tokens (
    digest     text primary key,
    id         text not null unique,       -- what people call it; not a secret
    scope      text not null check (scope in ('owner', 'session', 'reader')),
    session    text references sessions (id),
    minted_by  text not null,
    created_at text not null,
    revoked_at text,
    check ((scope = 'session') = (session is not null))
) strict, without rowid;

create index tokens_by_session on tokens (session) where session is not null;

-- What is left of sessions that were forgotten: statistics go on as if they were there.
create table tallies (
    day      text not null,                -- of its start, UTC
    agent    text not null,
    status   text not null,
    sessions integer not null,
    seconds  real not null,
    primary key (day, agent, status)
) strict, without rowid;
