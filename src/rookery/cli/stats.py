"""The command that shows statistics."""

from __future__ import annotations

import click

from rookery.cli.colour import colour_option
from rookery.cli.completion import agent_names
from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.render import reply, say
from rookery.cli.statistics_table import StatisticsTable
from rookery.cli.tables import width_here
from rookery.client import Client
from rookery.client.statistics import show_statistics
from rookery.presentation.texts import count

_NOTHING = 'Nothing to count yet. Start a session:  rookery start demo "say: Hello"'


@click.command(
    epilog=examples(
        "rookery stats",
        "rookery stats --days 7",
        "rookery stats --agent demo --json",
    )
)
@click.option(
    "--days", type=click.IntRange(1, 36_500), help="Only the last days, today included."
)
@click.option("--agent", shell_complete=agent_names, help="Only sessions of this agent.")
@colour_option
@as_json
@pass_client
def stats(daemon: Client, *, days: int | None, agent: str | None, as_json: bool) -> None:
    """Show how many sessions there were, what they used and what they cost.

    A day is a day of this computer's time zone; tokens and costs count on the day on which
    they were reported. Deleted sessions are included. A cost is known if the agent reports it,
    or if the configuration has a price for its model, in dollars per million tokens: `input`,
    `output`, `cache_read` and `cache_write` in a section [prices."MODEL"], where * and ? in
    MODEL match any text.
    """
    statistics = show_statistics(daemon, days=days, agent=agent)

    def show() -> None:
        if not (statistics.launched or statistics.found or statistics.days):
            say(_nothing(days, agent))
            return
        table = StatisticsTable(statistics, all_days=days is not None)
        for line in table.lines(width_here()):
            click.echo(line)
        notes = [*table.notes()]
        for note in ["", *notes] if notes else []:
            say(note)

    reply(statistics, show, as_json=as_json)


def _nothing(days: int | None, agent: str | None) -> str:
    if days is None and agent is None:
        return _NOTHING
    by = f" of {agent}" if agent else ""
    within = f" in the last {count(days, 'day')}" if days else ""
    return f"No session{by}{within}. See all:  rookery stats"
