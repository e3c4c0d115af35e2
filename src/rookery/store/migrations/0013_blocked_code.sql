-- What keeps a message from being delivered, as a code with a detail; waits_for is its text.
alter table messages add column blocked_code text not null default '';
alter table messages add column blocked_detail text not null default '';
