"""The commands for tokens."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import click

from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.render import local, remark, reply, say
from rookery.client import Client
from rookery.client.daemon import TokenInfo, mint_token, revoke_token
from rookery.client.daemon import list_tokens as list_valid


@click.group(epilog=examples("rookery token mint --scope reader", "rookery token ls"))
def token() -> None:
    """Manage tokens for programs that cannot use the daemon's socket."""


@token.command("mint", epilog=examples("rookery token mint --scope reader"))
@click.option("--scope", type=click.Choice(["owner", "reader"]), default="reader")
@as_json
@pass_client
def mint(daemon: Client, *, scope: str, as_json: bool) -> None:
    """Make a token; its secret is shown only once."""
    minted = mint_token(daemon, scope)
    reply(minted, minted.secret or "", as_json=as_json)
    if not as_json:
        remark(f"This is {scope} token {minted.token.id}; it is not shown again.")


@token.command("ls", epilog=examples("rookery token ls"))
@as_json
@pass_client
def list_tokens(daemon: Client, *, as_json: bool) -> None:
    """List the valid tokens."""
    tokens = list_valid(daemon)
    reply(tokens, partial(_show, tokens.tokens), as_json=as_json)


def _show(tokens: Sequence[TokenInfo]) -> None:
    for each in tokens:
        say(f"{each.id}  {each.scope:8}  {local(each.created_at)}  {each.minted_by}")


@token.command("revoke", epilog=examples("rookery token revoke 4f2a9c"))
@as_json
@click.argument("token_id")
@pass_client
def revoke(daemon: Client, *, token_id: str, as_json: bool) -> None:
    """Revoke a token; its event streams are closed."""
    revoke_token(daemon, token_id)
    reply({"revoked": token_id}, f"Revoked {token_id}.", as_json=as_json)
