create table sessions (
    id                text primary key,       -- ours
    name              text not null,
    agent             text not null,
    runtime           text not null,
    computer          text not null,
    status            text not null default 'starting' check (
        status in ('starting', 'running', 'closing', 'completed', 'failed', 'killed')),
    activity          text check (activity in ('working', 'idle', 'permission', 'question')),
    reason            text not null default '',
    since             text not null,
    title             text not null default '',
    label             text not null default '',
    native_id         text,                   -- the agent's own
    project_path      text not null default '',
    subdir            text not null default '',
    tmux_session      text,
    tmux_pane         text,
    owner             text not null,          -- who created it; never transferred
    parent            text references sessions (id),
    continues         text references sessions (id),
    origin            text not null default '',
    last_input_origin text not null default '',
    first_prompt      text not null default '',
    model             text not null default '',
    permission_mode   text not null default '',
    budget            integer,                -- micro-dollars
    transcript_path   text not null default '',
    created_at        text not null,
    started_at        text,
    last_activity_at  text not null,
    ended_at          text,
    ended_by          text not null default '',
    launch            text not null default '{}', -- what was asked for, as JSON
    is_held           integer not null default 0, -- a runtime may still hold something of it
    check ((status = 'running') = (activity is not null)),
    check ((status in ('completed', 'failed', 'killed')) = (ended_at is not null))
) strict, without rowid;

-- Two live sessions never share a native id; a resumed one may share it with the dead.
create unique index one_live_session_per_native_id on sessions (agent, native_id)
    where status in ('starting', 'running', 'closing');
create unique index one_live_session_per_name on sessions (name)
    where status in ('starting', 'running', 'closing');

create index sessions_by_native_id on sessions (agent, native_id);
create index sessions_by_name on sessions (name);
create index sessions_by_created on sessions (created_at);
create index sessions_by_ended on sessions (ended_at);
create index sessions_live on sessions (status)
    where status in ('starting', 'running', 'closing');
create index sessions_held on sessions (status) where is_held;
create index sessions_by_parent on sessions (parent) where parent is not null;
create index sessions_by_continues on sessions (continues) where continues is not null;

-- autoincrement: a number is never used again, also after pruning. Bookmarks and clients rely on it.
create table entries (
    seq     integer primary key autoincrement,
    at      text not null,
    session text not null,
    kind    text not null,
    body    text not null             -- the fact, as JSON
) strict;

-- How far each reader of the journal has read. Null: it keeps abreast, that is, it is
-- shown each entry in the transaction that adds it, and there is nothing to remember.
create table bookmarks (
    reader text primary key,
    seq    integer
) strict, without rowid;

-- Entries that a reader choked on.
create table parked (
    reader text not null,
    seq    integer not null,
    at     text not null,
    error  text not null,
    primary key (seq, reader)
) strict, without rowid;

-- What came in, by the key its sender gave it: told twice, taken once.
create table hooks (
    key   text primary key,
    at    text not null,
    error text                        -- why nothing could be made of it
) strict, without rowid;

create index hooks_by_time on hooks (at);

-- Commands that came with an Idempotency-Key: asked again, answered again, done once.
create table commands (
    key       text primary key,
    operation text not null,
    digest    text not null,          -- of what was asked
    answer    text not null,          -- JSON
    at        text not null
) strict, without rowid;

create index commands_by_time on commands (at);
