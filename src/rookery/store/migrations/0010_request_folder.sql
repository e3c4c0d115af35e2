-- The folder that a call is made in: the same command does something else in another one.
alter table requests add column folder text not null default '';
