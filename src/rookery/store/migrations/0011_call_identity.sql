-- Which call a request is about: two calls with the same input are still two.
alter table requests add column call_id text not null default '';  -- the agent's own id of the call
alter table requests add column subagent text not null default ''; -- the subagent that makes the call

-- Where a decided call runs.
alter table audit add column folder text not null default '';
