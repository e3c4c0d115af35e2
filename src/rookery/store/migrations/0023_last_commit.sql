-- The last commit of a worktree's branch before Rookery removed them. A conversation that is
-- resumed gets its worktree again from there.
alter table workspaces add column last_commit text not null default '';
