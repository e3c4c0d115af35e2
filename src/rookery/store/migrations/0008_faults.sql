-- Turns: which prompt an answer belongs to, background tasks.

-- Messages: what the agent's program changed, why words wait.
alter table messages add column changed text not null default '';
alter table messages add column refused text not null default ''; -- by its agent; being taken out of the box

-- Dialogs: requests that are known by the screen only, keys that were pressed.

-- Rules: the last valid rules, spooled calls.

-- Scopes: relays, reach, limits.

-- A caller on the socket is looked up by its process and by all processes above it.
create index sessions_by_process on sessions (process) where process is not null;

-- Runtime: panes and processes.

