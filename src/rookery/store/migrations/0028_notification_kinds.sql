-- Any kind of notification: the program checks the kinds, so that a new one needs no migration.
-- SQLite cannot drop a check, so the table is copied.
create table notifications_of_any_kind (
    id         integer primary key autoincrement,
    session    text not null references sessions (id),
    kind       text not null,
    subject    text not null,          -- the request, the turn's number, 'start', 'end', a file
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

insert into notifications_of_any_kind
    (id, session, kind, subject, channel, is_reminder, attempts, text, at, due_at, state,
     reason, settled_at)
    select id, session, kind, subject, channel, is_reminder, attempts, text, at, due_at, state,
     reason, settled_at from notifications;
drop table notifications;
alter table notifications_of_any_kind rename to notifications;

create index notifications_waiting on notifications (channel, due_at) where state = 'waiting';
create index notifications_sending on notifications (channel) where state = 'sending';
create index notifications_by_time on notifications (at);
