-- What a person is told about sessions outside of Rookery's own commands.

-- The kinds of news that each channel carries, as configured; written at each start.
create table notification_channels (
    channel text not null,
    kind    text not null,
    primary key (channel, kind)
) strict, without rowid;

-- One row for each outcome and channel. The unique key keeps an outcome from being told twice.
create table notifications (
    id         integer primary key autoincrement,
    session    text not null references sessions (id),
    kind       text not null check (kind in ('needs-you', 'finished', 'failed', 'limit')),
    subject    text not null,                  -- the request, the turn's number, or 'end'
    channel    text not null,
    is_reminder integer not null default 0,
    attempts   integer not null default 0,     -- how often the channel reported an error
    text       text not null,                  -- the question, the command or the reason
    at         text not null,
    due_at     text not null,
    state      text not null default 'waiting'
        check (state in ('waiting', 'sending', 'sent', 'failed', 'unsure', 'skipped')),
    reason     text not null default '',       -- why it was skipped or failed
    settled_at text,
    unique (session, kind, subject, channel, is_reminder)
) strict;

create index notifications_waiting on notifications (channel, due_at) where state = 'waiting';
create index notifications_sending on notifications (channel) where state = 'sending';
create index notifications_by_time on notifications (at);

-- Sessions about which no notification is sent.
create table mutes (
    session text primary key references sessions (id),
    until   text                               -- null: until it is unmuted
) strict, without rowid;
