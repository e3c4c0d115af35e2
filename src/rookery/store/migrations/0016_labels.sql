-- What a person says about sessions: the profile, tags and hiding. And which of them were lost.

alter table sessions add column profile text not null default '';
alter table sessions add column tags text not null default '';         -- words with blanks between
alter table sessions add column hidden integer not null default 0;
-- It ended because the daemon, tmux or the computer did.
alter table sessions add column lost integer not null default 0;

update sessions set lost = 1 where status = 'failed' and runtime = 'tmux'
    and reason in ('lost while the daemon was away', 'its tmux pane is gone');

create index sessions_lost on sessions (ended_at) where lost;
create index sessions_continuing on sessions (continues) where continues is not null;
