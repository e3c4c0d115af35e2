-- What is tracked of each session besides its state.
alter table sessions add column last_tool text not null default '';
alter table sessions add column tool_count integer not null default 0;
alter table sessions add column denial_count integer not null default 0;
alter table sessions add column input_tokens integer not null default 0;
alter table sessions add column output_tokens integer not null default 0;
alter table sessions add column cost integer;        -- micro-dollars; null: its agent does not say
alter table sessions add column tmux_server text;    -- whose pane it is in, if not our own server's
alter table sessions add column process text;        -- the agent's: its pid and when that began

create unique index one_live_session_per_process on sessions (process)
    where status in ('starting', 'running', 'closing') and process is not null;
create index sessions_by_pane on sessions (tmux_server, tmux_pane)
    where status in ('starting', 'running', 'closing');

-- Of agents that tell everything twice: the second is known by its words.
alter table hooks add column digest text;
create index hooks_by_digest on hooks (digest) where digest is not null;

alter table turns add column input_tokens integer not null default 0;
alter table turns add column output_tokens integer not null default 0;
alter table turns add column cost integer;
alter table turns add column held integer not null default 0; -- how often it was not let stop

-- How far each transcript was read.
create table transcripts (
    session text primary key references sessions (id),
    path    text not null,
    offset  integer not null default 0,
    seen    text not null default '{}'               -- what must not be counted twice, as JSON
) strict, without rowid;

-- What each source last said of a session, and when.
create table evidence (
    session text not null references sessions (id),
    source  text not null check (source in ('hook', 'registry', 'transcript', 'process', 'screen')),
    claim   text not null,
    detail  text not null default '',
    at      text not null,
    primary key (session, source)
) strict, without rowid;

-- Calls that a person is asked about. The row is the truth: whoever waits, waits for it.
create table requests (
    id          text primary key,
    session     text not null references sessions (id),
    kind        text not null check (kind in ('permission', 'question')),
    tool        text not null,
    input       text not null,                       -- JSON
    questions   text not null default '[]',          -- JSON
    message     text not null,
    digest      text not null,                       -- of the call
    hook        text unique,                         -- the key of the call that waits for it
    asked_at    text not null,
    deadline    text,                                -- null: its agent asks in its own terminal
    outcome     text not null default 'open' check (
        outcome in ('open', 'allowed', 'denied', 'answered', 'gone')),
    answered_by text not null default '',
    answered_at text,
    reason      text not null default '',
    answers     text not null default '{}',          -- JSON
    for_session integer not null default 0,
    is_spent    integer not null default 0,          -- the agent asked twice about one call
    keys        text not null default 'none' check ( -- where no hook carries the answer
        keys in ('none', 'due', 'pressed')),
    check ((outcome = 'open') = (answered_at is null))
) strict, without rowid;

create index requests_open on requests (session) where outcome = 'open';
create index requests_by_keys on requests (session) where keys = 'due';
create index requests_by_deadline on requests (deadline) where outcome = 'open';
create index requests_by_time on requests (asked_at);
create index requests_by_session on requests (session);

-- Calls that need not be asked about again while their session lives.
create table grants (
    session text not null references sessions (id),
    digest  text not null,
    request text not null,
    primary key (session, digest)
) strict, without rowid;

-- Every decision: who or what, by which rule, of what, when.
create table audit (
    id       integer primary key autoincrement,
    at       text not null,
    session  text not null,
    agent    text not null,
    tool     text not null,
    input    text not null,                          -- JSON
    decision text not null,
    by       text not null,
    rule     text not null default '',
    reason   text not null default '',
    request  text
) strict;

create index audit_by_time on audit (at);
create index audit_by_session on audit (session);

-- What is switched for all sessions at once, such as who is asked for permissions.
create table switches (
    name  text primary key,
    value text not null
) strict, without rowid;
