-- The current schema. New databases are created with it, older ones by the migrations.
-- Written by `make docs` from the migrations: change those, not this file.

CREATE TABLE sessions (
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
    is_held           integer not null default 0, last_tool text not null default '', tool_count integer not null default 0, denial_count integer not null default 0, input_tokens integer not null default 0, output_tokens integer not null default 0, cost integer, tmux_server text, process text, background integer not null default 0, awaits_tools integer not null default 0, present_mode text not null default '', handle text, profile text not null default '', tags text not null default '', hidden integer not null default 0, lost integer not null default 0, tool_argument text not null default '', tool_at text, tool_ended_at text, seen_at text, workspace text, estimated_cost integer not null default 0, context_tokens integer not null default 0, -- a runtime may still hold something of it
    check ((status = 'running') = (activity is not null)),
    check ((status in ('completed', 'failed', 'killed')) = (ended_at is not null))
) strict, without rowid;
CREATE UNIQUE INDEX one_live_session_per_native_id on sessions (agent, native_id)
    where status in ('starting', 'running', 'closing');
CREATE UNIQUE INDEX one_live_session_per_name on sessions (name)
    where status in ('starting', 'running', 'closing');
CREATE INDEX sessions_by_native_id on sessions (agent, native_id);
CREATE INDEX sessions_by_name on sessions (name);
CREATE INDEX sessions_by_created on sessions (created_at);
CREATE INDEX sessions_by_ended on sessions (ended_at);
CREATE INDEX sessions_live on sessions (status)
    where status in ('starting', 'running', 'closing');
CREATE INDEX sessions_held on sessions (status) where is_held;
CREATE INDEX sessions_by_parent on sessions (parent) where parent is not null;
CREATE INDEX sessions_by_continues on sessions (continues) where continues is not null;
CREATE TABLE entries (
    seq     integer primary key autoincrement,
    at      text not null,
    session text not null,
    kind    text not null,
    body    text not null             -- the fact, as JSON
) strict;
CREATE TABLE bookmarks (
    reader text primary key,
    seq    integer
) strict, without rowid;
CREATE TABLE parked (
    reader text not null,
    seq    integer not null,
    at     text not null,
    error  text not null,
    primary key (seq, reader)
) strict, without rowid;
CREATE TABLE hooks (
    key   text primary key,
    at    text not null,
    error text                        -- why nothing could be made of it
, digest text) strict, without rowid;
CREATE INDEX hooks_by_time on hooks (at);
CREATE TABLE commands (
    key       text primary key,
    operation text not null,
    digest    text not null,          -- of what was asked
    answer    text not null,          -- JSON
    at        text not null
) strict, without rowid;
CREATE INDEX commands_by_time on commands (at);
CREATE TABLE messages (
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
    acknowledged_by integer, envelope text not null default '', hops integer not null default 0, relay text, changed text not null default '', refused text not null default '', kind text not null default 'person', blocked_code text not null default '', blocked_detail text not null default '', withdrawn_by text not null default ''
    check (withdrawn_by = '' or step = 'failed'), expires_at text, cleared_at text, repeats integer, urgency text not null default '', interrupts integer not null default 0, way text not null default '',                                    -- the entry that proved it
    unique (cause, author, recipient),
    check ((step = 'acknowledged') = (acknowledged_by is not null)),
    check ((step in ('pending', 'failed')) = (parcel is null))
) strict;
CREATE UNIQUE INDEX one_parcel_under_way_per_session on messages (recipient)
    where id = parcel and step in ('sending', 'pasted', 'submitted');
CREATE INDEX messages_unproved on messages (recipient)
    where step in ('sending', 'pasted', 'submitted', 'unsure');
CREATE INDEX messages_by_recipient on messages (recipient);
CREATE TABLE tokens (
    digest     text primary key,
    id         text not null unique,       -- what people call it; not a secret
    scope      text not null check (scope in ('owner', 'session', 'reader')),
    session    text references sessions (id),
    minted_by  text not null,
    created_at text not null,
    revoked_at text,
    check ((scope = 'session') = (session is not null))
) strict, without rowid;
CREATE INDEX tokens_by_session on tokens (session) where session is not null;
CREATE TABLE tallies (
    day      text not null,                -- of its start, UTC
    agent    text not null,
    status   text not null,
    sessions integer not null,
    seconds  real not null, dearest text, dearest_cost integer, dearest_tokens integer not null default 0, dearest_estimated integer not null default 0,
    primary key (day, agent, status)
) strict, without rowid;
CREATE UNIQUE INDEX one_live_session_per_process on sessions (process)
    where status in ('starting', 'running', 'closing') and process is not null;
CREATE INDEX sessions_by_pane on sessions (tmux_server, tmux_pane)
    where status in ('starting', 'running', 'closing');
CREATE INDEX hooks_by_digest on hooks (digest) where digest is not null;
CREATE TABLE requests (
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
        keys in ('none', 'due', 'pressed')), source text not null default 'hook'
    check (source in ('hook', 'screen')), handed integer not null default 0, has_dialog integer not null default 1, missed integer not null default 0, presses integer not null default 0, pressed_at integer, folder text not null default '', call_id text not null default '', subagent text not null default '',
    check ((outcome = 'open') = (answered_at is null))
) strict, without rowid;
CREATE INDEX requests_open on requests (session) where outcome = 'open';
CREATE INDEX requests_by_keys on requests (session) where keys = 'due';
CREATE INDEX requests_by_deadline on requests (deadline) where outcome = 'open';
CREATE INDEX requests_by_time on requests (asked_at);
CREATE INDEX requests_by_session on requests (session);
CREATE TABLE grants (
    session text not null references sessions (id),
    digest  text not null,
    request text not null,
    primary key (session, digest)
) strict, without rowid;
CREATE TABLE audit (
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
, folder text not null default '') strict;
CREATE INDEX audit_by_time on audit (at);
CREATE INDEX audit_by_session on audit (session);
CREATE TABLE switches (
    name  text primary key,
    value text not null
) strict, without rowid;
CREATE TABLE transcripts (
    session text not null references sessions (id),
    path    text not null,
    due     integer,                          -- the entry that calls for a reading; null: none does
    offset  integer not null default 0,
    mark    text not null default '',         -- of what stands before the offset: a digest
    since   text not null,                    -- what was used until then does not count
    until   text not null default '',         -- the latest that was counted
    seen    text not null default '{}',       -- what must not be counted twice, as JSON
    primary key (session, path)
) strict, without rowid;
CREATE INDEX transcripts_due on transcripts (session) where due is not null;
CREATE INDEX messages_by_relay on messages (relay, id) where relay is not null;
CREATE TABLE waits (
    id       integer primary key autoincrement,
    caller   text not null references sessions (id),
    needed   integer not null check (needed > 0),     -- so many of them have to be there
    deadline text
) strict;
CREATE INDEX waits_by_caller on waits (caller);
CREATE INDEX waits_by_deadline on waits (deadline) where deadline is not null;
CREATE TABLE wait_news (
    wait   integer not null references waits (id) on delete cascade,
    target text not null,
    words  text not null,
    unique (wait, target)
) strict;
CREATE TABLE listeners (
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
CREATE INDEX listeners_by_caller on listeners (caller);
CREATE INDEX listeners_by_check on listeners (checked_at);
CREATE INDEX listeners_by_wait on listeners (wait) where wait is not null;
CREATE TABLE relays (
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
CREATE UNIQUE INDEX one_open_relay_per_pair on relays (pair)
    where pair is not null and closed_at is null;
CREATE INDEX relays_open on relays (created_at) where closed_at is null;
CREATE TABLE relay_members (
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
CREATE INDEX relay_members_by_session on relay_members (session) where left_at is null;
CREATE TABLE foregrounds (
    session text not null references sessions (id),
    channel text not null,
    seen    integer not null default 0,               -- the last turn that was shown
    since   text,                                     -- none: it is in the background
    by      text not null default '', seen_block integer not null default 0,                 -- who brought it; a person, if one did, too
    primary key (session, channel)
) strict, without rowid;
CREATE INDEX foregrounds_in_front on foregrounds (channel) where since is not null;
CREATE INDEX requests_by_screen on requests (session)
    where outcome = 'open' and (handed or source = 'screen');
CREATE INDEX requests_missed on requests (session) where missed;
CREATE TABLE told (
    request text not null,
    session text not null references sessions (id),
    primary key (request, session)
) strict, without rowid;
CREATE TABLE valid_rules (
    one integer primary key check (one = 1),
    text text not null, -- of the file, as it was read
    at text not null
) strict;
CREATE INDEX sessions_by_process on sessions (process) where process is not null;
CREATE TABLE notification_channels (
    channel text not null,
    kind    text not null,
    primary key (channel, kind)
) strict, without rowid;
CREATE TABLE mutes (
    session text primary key references sessions (id),
    until   text                               -- null: until it is unmuted
) strict, without rowid;
CREATE INDEX sessions_lost on sessions (ended_at) where lost;
CREATE INDEX sessions_continuing on sessions (continues) where continues is not null;
CREATE INDEX entries_of_tools on entries (seq, session) where kind = 'tool-called';
CREATE TABLE workspaces (
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
, last_commit text not null default '', landed_as text not null default '') strict, without rowid;
CREATE INDEX workspaces_by_session on workspaces (session);
CREATE UNIQUE INDEX workspaces_branch on workspaces (repository, branch)
    where state <> 'removed';
CREATE TABLE edits (
    session    text not null references sessions (id),
    repository text not null,
    path       text not null,                     -- relative to the root of the working tree
    at         text not null,
    primary key (session, repository, path)
) strict, without rowid;
CREATE INDEX edits_by_file on edits (repository, path);
CREATE TABLE overlaps (
    session    text not null references sessions (id),
    other      text not null references sessions (id),
    repository text not null,
    path       text not null,
    at         text not null,
    primary key (session, other, repository, path),
    check (session < other)
) strict, without rowid;
CREATE INDEX overlaps_by_other on overlaps (other);
CREATE INDEX messages_expiring on messages (expires_at)
    where step = 'pending' and expires_at is not null;
CREATE INDEX messages_urgent on messages (recipient) where step = 'pending' and urgency <> '';
CREATE TABLE driven_streams (
    session    text primary key references sessions (id),
    number     integer not null default 0,
    total_cost integer
) strict, without rowid;
CREATE TABLE "evidence" (
    session text not null references sessions (id),
    source  text not null check (source in
        ('stream', 'hook', 'registry', 'transcript', 'process', 'screen')),
    claim   text not null,
    detail  text not null default '',
    at      text not null,
    primary key (session, source)
) strict, without rowid;
CREATE TABLE blocks (
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
CREATE TABLE session_days (
    session        text not null,
    day            text not null,
    agent          text not null,
    launched       integer not null default 0,  -- 1 on the day on which Rookery started it
    found          integer not null default 0,  -- 1 on the day on which Rookery found it
    turns          integer not null default 0,
    input_tokens   integer not null default 0,
    output_tokens  integer not null default 0,
    cost           integer,                     -- micro-dollars; null: unknown
    estimated_cost integer not null default 0,  -- the part of it that prices gave
    primary key (session, day, agent)
) strict, without rowid;
CREATE TABLE counters (
    name  text not null,
    label text not null,
    value integer not null,
    primary key (name, label)
) strict, without rowid;
CREATE TABLE "turns" (
    started_by     integer primary key,        -- the entry
    session        text not null references sessions (id),
    prompt         text not null,
    answer         text not null default '',
    how            text not null default '',
    started_at     text not null,
    ended_at       text,
    parcel         integer,                    -- the messages that it took up, if any
    input_tokens   integer not null default 0,
    output_tokens  integer not null default 0,
    cost           integer,                    -- micro-dollars
    estimated_cost integer not null default 0, -- the part of it that prices gave
    held           integer not null default 0, -- how often it was kept from stopping
    native_id      text not null default '',   -- the agent's own
    -- 'waiting': typed while another turn ran; 'taken_in' by that turn, after a tool
    queued         text not null default ''
        check (queued in ('', 'waiting', 'taken_in')),
    is_paused      integer not null default 0  -- its agent waits for background subagents
) strict;
CREATE INDEX turns_by_session on turns (session);
CREATE INDEX turns_open on turns (session) where ended_at is null;
CREATE INDEX turns_by_parcel on turns (parcel) where parcel is not null;
CREATE INDEX messages_by_step on messages (step, recipient);
CREATE INDEX messages_by_parcel on messages (parcel) where parcel is not null;
CREATE TABLE "notifications" (
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
CREATE INDEX notifications_waiting on notifications (channel, due_at) where state = 'waiting';
CREATE INDEX notifications_sending on notifications (channel) where state = 'sending';
CREATE INDEX notifications_by_time on notifications (at);
