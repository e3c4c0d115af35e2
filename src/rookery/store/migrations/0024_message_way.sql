-- How a message was given to its agent: 'keys', 'queue', or the runtime of a driven session.
alter table messages add column way text not null default '';
