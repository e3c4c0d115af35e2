-- Turns in the order of their entries: those that one transaction adds are on the same pages, so
-- that it writes a third less. SQLite cannot change a key, so the table is copied.
create table turns_in_order (
    started_by     integer primary key,        -- the entry
    session        text not null references sessions (id),
    prompt         text not null,
    answer         text not null default '',
    how            text not null default '',
    started_at     text not null,
    ended_at       text,
    parcel         integer,                    -- the messages that it took up, if any
    input_tokens   integer not null default 0,
    output_tokens  integer not null default 0,
    cost           integer,                    -- micro-dollars
    estimated_cost integer not null default 0, -- the part of it that prices gave
    held           integer not null default 0, -- how often it was kept from stopping
    native_id      text not null default '',   -- the agent's own
    -- 'waiting': typed while another turn ran; 'taken_in' by that turn, after a tool
    queued         text not null default ''
        check (queued in ('', 'waiting', 'taken_in')),
    is_paused      integer not null default 0  -- its agent waits for background subagents
) strict;

insert into turns_in_order (started_by, session, prompt, answer, how, started_at,
        ended_at, parcel, input_tokens, output_tokens, cost, estimated_cost, held, native_id,
        queued, is_paused)
    select started_by, session, prompt, answer, how, started_at, ended_at, parcel,
        input_tokens, output_tokens, cost, estimated_cost, held, native_id, queued, is_paused
    from turns order by started_by;
drop table turns;
alter table turns_in_order rename to turns;

create index turns_by_session on turns (session);
create index turns_open on turns (session) where ended_at is null;
create index turns_by_parcel on turns (parcel) where parcel is not null;

-- Fewer indexes for each message: one by step serves for the pending ones, too, and most messages
-- have no parcel when they are written.
drop index messages_pending;
drop index messages_by_step;
create index messages_by_step on messages (step, recipient);
drop index messages_by_parcel;
create index messages_by_parcel on messages (parcel) where parcel is not null;
