"""Turn a launch into the command that starts it in the driver host."""

from __future__ import annotations

from rookery.drivers import commands
from rookery.model.errors import RuntimeFailed
from rookery.ports.runtime import Launch


def start_command(launch: Launch, silence_seconds: float) -> commands.Start:
    """Return the command. Raises ``RuntimeFailed`` if the launch is for a terminal."""
    driver = launch.driver
    if driver is None:
        raise RuntimeFailed("no driver is named for this session.")
    return commands.Start(
        session=launch.session,
        driver=driver.driver,
        argv=launch.argv,
        environment=launch.environment,
        folder=str(launch.folder),
        options=driver.options,
        is_single_turn=driver.is_single_turn,
        budget=driver.budget,
        silence_seconds=silence_seconds,
    )
