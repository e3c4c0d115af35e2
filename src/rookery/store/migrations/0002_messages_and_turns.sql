-- Words on their way to a session. One author speaks to a recipient once per entry.
create table messages (
    id              integer primary key autoincrement,
    recipient       text not null references sessions (id),
    words           text not null,
    removed         integer not null default 0,                 -- control characters taken out
    author          text not null,                              -- a reader or a command
    cause           integer not null,                           -- an entry
    written_at      text not null,
    step            text not null default 'pending' check (step in (
        'pending', 'sending', 'pasted', 'submitted', 'acknowledged', 'unsure', 'failed')),
    waits_for       text not null default '',
    parcel          integer references messages (id),           -- the first it was joined with
    taken_up        text,
    acknowledged_by integer,                                    -- the entry that proved it
    unique (cause, author, recipient),
    check ((step = 'acknowledged') = (acknowledged_by is not null)),
    check ((step in ('pending', 'failed')) = (parcel is null))
) strict;

-- One parcel at a time per session: the index says so, not the code.
create unique index one_parcel_under_way_per_session on messages (recipient)
    where id = parcel and step in ('sending', 'pasted', 'submitted');

-- SQLite takes a partial index only for a query that repeats its condition word for word.
create index messages_pending on messages (recipient) where step = 'pending';
create index messages_unproved on messages (recipient)
    where step in ('sending', 'pasted', 'submitted', 'unsure');
create index messages_by_parcel on messages (parcel);
create index messages_by_recipient on messages (recipient);

-- From a prompt to the agent's stop.
create table turns (
    session    text not null references sessions (id),
    started_by integer not null,                -- the entry
    prompt     text not null,
    answer     text not null default '',
    how        text not null default '',
    started_at text not null,
    ended_at   text,
    parcel     integer,                         -- the words that it took up, if they were ours
    primary key (session, started_by)
) strict, without rowid;

create index turns_open on turns (session) where ended_at is null;
create index turns_by_parcel on turns (parcel) where parcel is not null;
