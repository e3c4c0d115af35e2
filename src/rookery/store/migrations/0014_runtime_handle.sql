-- What a runtime returned for the program that it started: RuntimeHandle.text. Only that runtime
-- reads it. The tmux columns show where a person finds the terminal.
alter table sessions add column handle text;

-- Sessions that run now. Their process is not known here; it is found again by the name.
update sessions set handle = 'tmux:' || json_object('name', tmux_session, 'pane', tmux_pane)
where tmux_session is not null and tmux_pane is not null and tmux_server is null
  and status in ('starting', 'running', 'closing');
