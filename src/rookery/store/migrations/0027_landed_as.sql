-- The last commit of the branch into which a worktree landed, after it did. A squash or a rebase
-- lands other commits than the worktree has; only this one tells whether they are still there.
alter table workspaces add column landed_as text not null default '';
