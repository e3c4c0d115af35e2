-- The git worktree of a session, as it was chosen; JSON, and null for most sessions.
alter table sessions add column workspace text;

-- Every worktree that Rookery has made for a session, or is about to make.
create table workspaces (
    path          text primary key,
    session       text not null references sessions (id),  -- the last one that it was given to
    repository    text not null,                  -- git's common folder
    source        text not null,                  -- the checkout from which files are copied
    branch        text not null,
    is_new_branch integer not null,
    base          text not null,
    base_commit   text not null,
    state         text not null check (
        state in ('requested', 'ready', 'kept', 'removing', 'removed')),
    reason        text not null default '',
    is_discarded  integer not null default 0,
    landed_commit text not null default '',
    process       text not null default '',       -- works on it for Rookery: pid and start
    created_at    text not null
) strict, without rowid;

create index workspaces_by_session on workspaces (session);
-- One worktree for each branch, even if two starts come at once.
create unique index workspaces_branch on workspaces (repository, branch)
    where state <> 'removed';

-- Which files of a repository a session has changed, as its tool calls report.
create table edits (
    session    text not null references sessions (id),
    repository text not null,
    path       text not null,                     -- relative to the root of the working tree
    at         text not null,
    primary key (session, repository, path)
) strict, without rowid;

create index edits_by_file on edits (repository, path);

-- Files that two sessions have changed. Each pair and file is told once.
create table overlaps (
    session    text not null references sessions (id),
    other      text not null references sessions (id),
    repository text not null,
    path       text not null,
    at         text not null,
    primary key (session, other, repository, path),
    check (session < other)
) strict, without rowid;

create index overlaps_by_other on overlaps (other);

-- Notifications can be about overlaps. SQLite cannot change a check, so the table is copied.
create table notifications_with_overlaps (
    id         integer primary key autoincrement,
    session    text not null references sessions (id),
    kind       text not null
        check (kind in ('needs-you', 'finished', 'failed', 'limit', 'overlap')),
    subject    text not null,                  -- the request, the turn's number, 'end', a file
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

insert into notifications_with_overlaps
    (id, session, kind, subject, channel, is_reminder, attempts, text, at, due_at, state,
     reason, settled_at)
    select id, session, kind, subject, channel, is_reminder, attempts, text, at, due_at, state,
     reason, settled_at from notifications;
drop table notifications;
alter table notifications_with_overlaps rename to notifications;

create index notifications_waiting on notifications (channel, due_at) where state = 'waiting';
create index notifications_sending on notifications (channel) where state = 'sending';
create index notifications_by_time on notifications (at);
