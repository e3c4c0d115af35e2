-- Turns: which prompt an answer belongs to, background tasks.
alter table turns add column native_id text not null default '';   -- the agent's own id
alter table turns add column queued text not null default ''       -- typed while another turn ran:
    check (queued in ('', 'waiting', 'taken_in'));                  -- 'taken_in' by that turn, after a tool
alter table turns add column is_paused integer not null default 0; -- stopped, but its subagents go on
alter table sessions add column background integer not null default 0; -- commands that still run

-- Messages: what the agent's program changed, why words wait.
alter table messages add column changed text not null default '';
alter table sessions add column awaits_tools integer not null default 0; -- its first words wait for them
alter table messages add column refused text not null default ''; -- by its agent; being taken out of the box

-- Dialogs: requests that are known by the screen only, keys that were pressed.
alter table requests add column source text not null default 'hook'
    check (source in ('hook', 'screen'));
alter table requests add column handed integer not null default 0;  -- the agent's own dialog has it
alter table requests add column has_dialog integer not null default 1; -- its agent can ask by itself
alter table requests add column missed integer not null default 0;  -- not answered in time, not seen yet
alter table requests add column presses integer not null default 0; -- keys meant to end its dialog
alter table requests add column pressed_at integer;                 -- the entry of the last of them
create index requests_by_screen on requests (session)
    where outcome = 'open' and (handed or source = 'screen');
create index requests_missed on requests (session) where missed;

-- Which sessions were told of a question, and so may answer it.
create table told (
    request text not null,
    session text not null references sessions (id),
    primary key (request, session)
) strict, without rowid;

-- Rules: the last valid rules, spooled calls.

create table valid_rules (
    one integer primary key check (one = 1),
    text text not null, -- of the file, as it was read
    at text not null
) strict;

-- Scopes: relays, reach, limits.

-- A caller on the socket is looked up by its process and by all processes above it.
create index sessions_by_process on sessions (process) where process is not null;

-- Of the forgotten sessions: how many Rookery had started. Until now all counted as that.
alter table tallies add column launched integer not null default 0;
update tallies set launched = sessions;

-- Runtime: panes and processes.

