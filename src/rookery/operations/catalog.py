"""The table of all operations, shared by every interface."""

from __future__ import annotations

from typing import Any

from rookery.model.scopes import Need
from rookery.operations import (
    agent_commands,
    conversation_data,
    daemon,
    discovery,
    foreground,
    inbox,
    keys,
    listeners,
    maintenance,
    messages,
    permission_rules,
    permissions,
    projects,
    relays,
    resume,
    session_waits,
    sessions,
    start,
    tokens,
    tracking,
)
from rookery.operations.operation import Operation, get, post

SESSION = "/v1/sessions/{session}"
MESSAGE = "/v1/messages/{message}"
RELAY = "/v1/relays/{relay}"
PERMISSION = "/v1/permissions/{permission}"

#: Each with its name, its path, what a caller needs to be allowed, and its function.
OPERATIONS: tuple[Operation[Any, Any], ...] = (
    post("start", "/v1/sessions", Need.START, start.start),
    get("list", "/v1/sessions", Need.READ, sessions.list_sessions),
    post("end_all", "/v1/sessions/end", Need.OWN, sessions.end_all),
    get("show", SESSION, Need.READ, sessions.show),
    get("turns", f"{SESSION}/turns", Need.READ, sessions.show_turns),
    get("screen", f"{SESSION}/screen", Need.READ, sessions.screen),
    post("end", f"{SESSION}/end", Need.END, sessions.end),
    post("interrupt", f"{SESSION}/interrupt", Need.END, keys.interrupt),
    post("keys", f"{SESSION}/keys", Need.OWN, keys.press),
    post("rename", f"{SESSION}/name", Need.OWN, sessions.rename),
    get("wait", f"{SESSION}/wait", Need.READ, session_waits.wait),
    get("wait_several", "/v1/wait", Need.READ, session_waits.wait_for_several),
    post("resume", f"{SESSION}/resume", Need.START, resume.resume),
    post("send", f"{SESSION}/messages", Need.SPEAK, messages.send),
    get("message", MESSAGE, Need.READ, messages.show_message),
    get("answer", f"{MESSAGE}/answer", Need.READ, messages.answer),
    post("listen", "/v1/listeners", Need.SPEAK, listeners.listen),
    post("unlisten", "/v1/listeners/stop", Need.SPEAK, listeners.unlisten),
    get("listeners", "/v1/listeners", Need.READ, listeners.list_listeners),
    get("inbox", "/v1/inbox", Need.READ, inbox.inbox),
    post("hold", "/v1/hold", Need.OWN, inbox.hold),
    post("release", "/v1/release", Need.OWN, inbox.release),
    post("relay", "/v1/relays", Need.SPEAK, relays.create),
    get("relays", "/v1/relays", Need.READ, relays.list_relays),
    get("relay_show", RELAY, Need.READ, relays.show),
    post("relay_join", f"{RELAY}/join", Need.SPEAK, relays.join),
    post("relay_leave", f"{RELAY}/leave", Need.SPEAK, relays.leave),
    post("relay_close", f"{RELAY}/close", Need.SPEAK, relays.close),
    post("foreground", f"{SESSION}/foreground", Need.SPEAK, foreground.foreground),
    post("shown", f"{SESSION}/shown", Need.OWN, foreground.shown),
    post("background", f"{SESSION}/background", Need.SPEAK, foreground.background),
    get("foregrounds", "/v1/foregrounds", Need.READ, foreground.list_foregrounds),
    get("data", f"{SESSION}/data", Need.READ, conversation_data.show_data),
    post("command", f"{SESSION}/commands", Need.END, agent_commands.command),
    get("computers", "/v1/computers", Need.READ, projects.list_computers),
    get("projects", "/v1/projects", Need.READ, projects.list_projects),
    get("why", f"{SESSION}/why", Need.READ, tracking.why),
    get("track", "/status", Need.READ, tracking.track),
    get("permissions", "/v1/permissions", Need.READ, permissions.list_requests),
    post("answer_permission", f"{PERMISSION}/answer", Need.DECIDE, permissions.answer),
    get("permission", PERMISSION, Need.READ, permissions.show_request),
    post("answer_question", f"{PERMISSION}/words", Need.SPEAK, permissions.answer_question),
    post("see_missed", "/v1/permissions/seen", Need.OWN, permissions.see_missed),
    post("test_rules", "/v1/rules/test", Need.OWN, permission_rules.test_rules),
    get("mode", "/v1/mode", Need.READ, permission_rules.show_mode),
    post("set_mode", "/v1/mode", Need.OWN, permission_rules.set_mode),
    get("audit", "/v1/audit", Need.OWN, permission_rules.audit),
    get("panes", "/v1/panes", Need.OWN, discovery.list_panes),
    post("discover", "/v1/discover", Need.OWN, discovery.discover),
    get("status", "/v1/status", Need.READ, daemon.status),
    get("stats", "/v1/stats", Need.READ, daemon.count),
    post("stop", "/v1/stop", Need.OWN, daemon.stop),
    get("doctor", "/v1/doctor", Need.OWN, maintenance.check_up),
    post("prune", "/v1/prune", Need.OWN, maintenance.prune),
    post("backup", "/v1/backup", Need.OWN, maintenance.back_up),
    post("mint", "/v1/tokens", Need.OWN, tokens.mint),
    get("tokens", "/v1/tokens", Need.OWN, tokens.list_tokens),
    post("revoke", "/v1/tokens/{token}/revoke", Need.OWN, tokens.revoke),
)
