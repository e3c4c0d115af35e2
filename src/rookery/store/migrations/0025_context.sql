-- How many tokens are in the context of the session's conversation; 0 if that is unknown.
alter table sessions add column context_tokens integer not null default 0;
