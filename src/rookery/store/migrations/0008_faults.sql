-- Turns: which prompt an answer belongs to, background tasks.

-- Messages: what the agent's program changed, why words wait.
alter table messages add column changed text not null default '';
alter table messages add column refused text not null default ''; -- by its agent; being taken out of the box

-- Dialogs: requests that are known by the screen only, keys that were pressed.

-- Rules: the last valid rules, spooled calls.

-- Scopes: relays, reach, limits.

-- Runtime: panes and processes.

