-- Messages that are taken back before they are sent, or replaced by another one. A withdrawn
-- message has the step 'failed': nothing of it was ever sent.
alter table messages add column withdrawn_by text not null default ''
    check (withdrawn_by = '' or step = 'failed');
alter table messages add column expires_at text;          -- withdrawn if it is not sent by then
alter table messages add column cleared_at text;          -- no longer listed
alter table messages add column repeats integer;          -- the message with the same text before

-- How a message reaches a session in the middle of a turn: 'steer' or 'interrupt'.
alter table messages add column urgency text not null default '';
alter table messages add column interrupts integer not null default 0;  -- keys pressed for it

create index messages_expiring on messages (expires_at)
    where step = 'pending' and expires_at is not null;
create index messages_urgent on messages (recipient) where step = 'pending' and urgency <> '';
