-- The part of a cost that was computed from configured prices, in micro-dollars.
alter table sessions add column estimated_cost integer not null default 0;
alter table turns add column estimated_cost integer not null default 0;

-- What each session used on each day of the local time zone. The rows of deleted sessions are
-- added up under the empty id, so that statistics and metrics never decrease.
create table session_days (
    session        text not null,
    day            text not null,
    agent          text not null,
    launched       integer not null default 0,  -- 1 on the day on which Rookery started it
    found          integer not null default 0,  -- 1 on the day on which Rookery found it
    turns          integer not null default 0,
    input_tokens   integer not null default 0,
    output_tokens  integer not null default 0,
    cost           integer,                     -- micro-dollars; null: unknown
    estimated_cost integer not null default 0,  -- the part of it that prices gave
    primary key (session, day, agent)
) strict, without rowid;

-- The days on which sessions began, and their turns.
insert into session_days (session, day, agent, launched, found)
    select id, date(created_at, 'localtime'), agent, runtime not in ('observed', 'headless'),
        runtime in ('observed', 'headless') from sessions;
insert into session_days (session, day, agent, turns)
    select session, date(turns.started_at, 'localtime') as used_on, agent, count(*)
    from turns join sessions on sessions.id = session group by session, used_on, agent
    on conflict do update set turns = excluded.turns;

-- Usage, on the days on which it was reported. Until now, prices gave every cost of agents
-- that do not report one; which costs those are was not stored.
insert into session_days (session, day, agent, input_tokens, output_tokens, cost)
    select entries.session, date(entries.at, 'localtime') as used_on, agent,
        sum(json_extract(body, '$.input_tokens')), sum(json_extract(body, '$.output_tokens')),
        sum(json_extract(body, '$.cost'))
    from entries join sessions on sessions.id = entries.session
    where kind = 'usage-reported' group by entries.session, used_on, agent
    on conflict do update set input_tokens = excluded.input_tokens,
        output_tokens = excluded.output_tokens, cost = excluded.cost;

-- Usage whose entries were deleted counts on the day on which its session began.
insert into session_days (session, day, agent, input_tokens, output_tokens, cost)
    select id, date(created_at, 'localtime'), sessions.agent,
        sessions.input_tokens - sum(known.input_tokens),
        sessions.output_tokens - sum(known.output_tokens),
        sessions.cost - coalesce(sum(known.cost), 0)
    from sessions join session_days as known on known.session = sessions.id group by id
    having sessions.input_tokens > sum(known.input_tokens)
        or sessions.output_tokens > sum(known.output_tokens)
        or sessions.cost > coalesce(sum(known.cost), 0)
    on conflict do update set input_tokens = input_tokens + excluded.input_tokens,
        output_tokens = output_tokens + excluded.output_tokens,
        cost = iif(excluded.cost is null, cost, coalesce(cost, 0) + excluded.cost);

-- Sessions that were deleted before: only the days on which they began are known, in UTC.
insert into session_days (session, day, agent, launched, found, turns, input_tokens,
        output_tokens, cost)
    select '', day, agent, sum(launched), sum(sessions - launched), sum(turns),
        sum(input_tokens), sum(output_tokens), sum(cost)
    from tallies group by day, agent;

-- What remains in the tallies is about whole sessions: their number, duration and status.
alter table tallies drop column turns;
alter table tallies drop column input_tokens;
alter table tallies drop column output_tokens;
alter table tallies drop column cost;
alter table tallies drop column launched;
alter table tallies add column dearest_estimated integer not null default 0;

-- Events that metrics count for ever, while the rows that prove them are deleted in time.
create table counters (
    name  text not null,
    label text not null,
    value integer not null,
    primary key (name, label)
) strict, without rowid;

insert into counters
    select 'messages_written', '', count(*) from entries
        where kind = 'message-written' group by kind
    union all
    select 'requests_asked', json_extract(body, '$.kind'), count(*) from entries
        where kind = 'input-asked' group by 2
    union all
    select iif(json_extract(body, '$.rule') = '', 'requests_answered', 'calls_ruled'),
        json_extract(body, '$.decision'), count(*) from entries
        where kind = 'call-decided' group by 1, 2
    union all
    select 'tools_called', '', count(*) from entries where kind = 'tool-called' group by kind
    union all
    select 'hook_calls', iif(error is null, 'recorded', 'failed'), count(*) from hooks group by 2;

create index messages_by_step on messages (step);
