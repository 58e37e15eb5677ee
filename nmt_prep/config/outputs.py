"""The keys that all entries of the list ``outputs`` share. Those of single kinds are in :mod:`nmt_prep.outputs`."""

from __future__ import annotations

from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import Field

from nmt_prep.config.section import Count, Name, Section

Shards = dict[str, Annotated[Count, Field(ge=1, le=99_999)]]


class OutputOptions(Section):
    """An output: the encoded splits in the files of one trainer."""

    if TYPE_CHECKING:
        kind: str

    name: Name | None = Field(
        None,
        description="letters, digits, dots, dashes and underscores, or null for the kind: the directory in outputs/",
    )
    shards: Shards = Field(
        default_factory=dict,
        description="a mapping from splits to integers from 1 to 99999: the number of shards of a split, by default "
        "that of records.shards",
    )
    corpus: bool = Field(
        False, description="true or false: also write the name of each pair's corpus, if the kind has a place for it"
    )

    @property
    def directory(self) -> str:
        """Name of the directory of the output."""
        return self.name or self.kind


def outputs_of(kinds: tuple[type[OutputOptions], ...]) -> Any:
    """Returns the type of a list of outputs, each of which is one of several models, selected by ``kind``."""
    each: Any = Annotated[Union[kinds], Field(discriminator="kind")]  # noqa: UP007
    return GenericAlias(tuple, (each, ...))
