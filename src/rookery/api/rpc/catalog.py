"""The table of all methods of JSON-RPC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.agents.names import RPC_PREFIX
from rookery.api.rpc import gateway, gateway_stats, launching
from rookery.api.rpc.methods import OPERATION_METHODS, RpcMethod, written
from rookery.model.scopes import Need

#: The methods that tools for Claude Code already use, under their names.
GATEWAY_METHODS: tuple[RpcMethod[Any], ...] = (
    written(f"{RPC_PREFIX}.sessions", Need.READ, gateway.list_sessions),
    written(f"{RPC_PREFIX}.launch", Need.START, launching.launch),
    written(f"{RPC_PREFIX}.kill", Need.END, gateway.kill),
    written(f"{RPC_PREFIX}.output", Need.READ, gateway.show_output),
    written(f"{RPC_PREFIX}.stats", Need.READ, gateway_stats.show_stats),
)

METHODS: Mapping[str, RpcMethod[Any]] = {
    **OPERATION_METHODS,
    **{each.name: each for each in GATEWAY_METHODS},
}
