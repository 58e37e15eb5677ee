"""The part of a config's schema that says where outputs are published."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, field_validator

from nmt_prep.config.section import Count, Section

_URL = r"^[A-Za-z][A-Za-z0-9+.-]*://[^/@?#\x00-\x1f\x7f]*(/[^?#\x00-\x1f\x7f]*)?$"
_SECRET = re.compile(r"secret|token|pass|pwd|cred|^key$|_key$|^sas", re.IGNORECASE)

Published = Literal["compile", "sample", "vocab", "encode", "export", "report"]


class PublishSettings(Section):
    """An object store, or any other place that fsspec writes to, that gets a copy of what training reads."""

    url: Annotated[str, StringConstraints(pattern=_URL), AfterValidator(lambda url: url.rstrip("/"))] = Field(
        description="a URL below which fsspec can write, such as s3://bucket/prefix, gs://bucket/prefix or "
        "file:///path, without user and password: credentials come from the environment"
    )
    stages: Annotated[tuple[Published, ...], Field(min_length=1)] = Field(
        ("vocab", "encode", "report"), description="names of stages whose output is published"
    )
    options: dict[str, Any] = Field(
        default_factory=dict,
        description="options of fsspec's file system, such as endpoint_url; credentials come from the environment",
    )
    retries: Count = Field(5, ge=0, le=100, description="an integer from 0 to 100: tries after the first of a request")

    @field_validator("options")
    @classmethod
    def _no_secrets(cls, options: dict[str, Any]) -> dict[str, Any]:
        secrets = sorted(_secret_keys(options))
        if secrets:
            raise ValueError(f"leave {secrets[0]} out of the config; credentials come from the environment")
        return options


def _secret_keys(options: object) -> set[str]:
    """Keys at any depth whose names speak of a secret."""
    if isinstance(options, dict):
        own = {str(key) for key in options if _SECRET.search(str(key))}
        return own.union(*map(_secret_keys, options.values()))
    return set().union(*map(_secret_keys, options)) if isinstance(options, list) else set()
