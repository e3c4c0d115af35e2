-- Where sessions are shown to a person as they go on, and how far each was shown there.
create table foregrounds (
    session text not null references sessions (id),
    channel text not null,
    seen    integer not null default 0,               -- the last turn that was shown
    since   text,                                     -- none: it is in the background
    by      text not null default '',                 -- who brought it; a person, if one did, too
    primary key (session, channel)
) strict, without rowid;

create index foregrounds_in_front on foregrounds (channel) where since is not null;
