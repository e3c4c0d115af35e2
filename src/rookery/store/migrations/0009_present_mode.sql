-- The permission mode that a hook told last: a person may change it at the keyboard.
alter table sessions add column present_mode text not null default '';
