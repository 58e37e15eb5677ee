"""Options of run and plan that concern cleaning."""

from __future__ import annotations

from typing import Annotated

import typer

from nmt_prep.config import Config

AllowEmptyOption = Annotated[
    bool, typer.Option("--allow-empty", help="Go on if cleaning drops all pairs of a corpus (clean.allow_empty).")
]
ShowRulesOption = Annotated[
    bool, typer.Option("--show-rules", help="Instead, print the cleaning rules of every corpus in full.")
]


def allowing_empty(config: Config, allowed: bool) -> Config:
    """Returns a config with ``clean.allow_empty`` set if ``allowed``.

    Raises:
        BadParameter: it is to be set, but the config has no section ``clean``.
    """
    if not allowed:
        return config
    if config.clean is None:
        raise typer.BadParameter("--allow-empty is for cleaning, but the config has no section clean")
    return config.model_copy(update={"clean": config.clean.model_copy(update={"allow_empty": True})})


def rules_as_yaml(config: Config) -> str:
    """Returns the section ``clean`` of a config in full, as YAML; a comment if it has none."""
    import yaml  # noqa: PLC0415  (takes a while to load)

    from nmt_prep.cleaning.in_full import section_in_full  # noqa: PLC0415  (loads pyarrow)

    if config.clean is None:
        return "# The config has no section clean: nothing is cleaned."
    section = {"clean": section_in_full(config, config.clean)}
    return str(
        yaml.safe_dump(section, sort_keys=False, allow_unicode=True, width=100, default_flow_style=None)
    ).rstrip()
