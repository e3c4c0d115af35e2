-- What a message is, instead of a guess by the text of its author.
alter table messages add column kind text not null default 'person';
update messages set kind = case
    when author = 'listeners' or author like 'relays %' then 'news'
    when author like 'relay %' then 'relay'
    when author like 'session %' then 'session'
    else 'person' end;
