"""The dialects of an agent by its name, for tests of agents that have them."""

from __future__ import annotations

from rookery.agents.catalog import AGENTS
from rookery.ports.agent import HookDialect, KeyDialect, ScreenDialect, SpeechDialect
from rookery.ports.settings import HookShape, SettingsDialect


def hooks_of(agent: str) -> HookDialect:
    hooks = AGENTS[agent].hooks
    assert hooks, f"{agent} has no hooks"
    return hooks


def screen_of(agent: str) -> ScreenDialect:
    screen = AGENTS[agent].screen
    assert screen, f"the screen of {agent} cannot be read"
    return screen


def keys_of(agent: str) -> KeyDialect:
    keys = screen_of(agent).keys
    assert keys, f"{agent} has no dialogs"
    return keys


def speech_of(agent: str) -> SpeechDialect:
    speech = screen_of(agent).speech
    assert speech, f"nothing is read off the screen of {agent}"
    return speech


def settings_of(agent: str) -> SettingsDialect:
    settings = AGENTS[agent].settings
    assert settings, f"{agent} has no settings"
    return settings


def shape_of(agent: str) -> HookShape:
    shape = settings_of(agent).hooks
    assert shape, f"{agent} has no hooks in its settings"
    return shape
