from __future__ import annotations

from hypothesis import settings

from tests.support.listeners_machine import ListenersMachine

TestListeners = ListenersMachine.TestCase
TestListeners.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
