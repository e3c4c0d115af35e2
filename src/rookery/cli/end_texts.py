"""How a session ended, worded for the user; the record has *killed*."""

from __future__ import annotations

from rookery.presentation import states

ended_by = states.ended_by
