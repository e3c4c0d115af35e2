"""Write src/rookery/store/schema.sql: the schema that all migrations together make."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from rookery.store import migrations
from rookery.store.connections import open_file

HEADER = """\
-- The current schema. New databases are created with it, older ones by the migrations.
-- Written by `make docs` from the migrations: change those, not this file.
"""


def statements() -> Iterator[str]:
    with closing(open_file(":memory:")) as db:
        migrations.migrate(db, until=migrations.latest())
        rows = db.execute(
            "select sql from sqlite_schema where sql is not null and name not like 'sqlite_%'"
            " order by rowid"
        )
        for row in rows:
            yield f"{row['sql']};"


def main() -> None:
    migrations.SCHEMA.write_text("\n".join([HEADER, *statements(), ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
