"""The part of a config's schema for publishing outputs."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Field, StringConstraints, field_validator

from nmt_prep.config.section import Count, Section

_URL = r"^[A-Za-z][A-Za-z0-9+.-]*://[^/@?#\x00-\x1f\x7f]*(/[^?#\x00-\x1f\x7f]*)?$"
_SECRET = re.compile(r"secret|token|pass|pwd|cred|^key$|_key$|^sas", re.IGNORECASE)

Publishable: TypeAlias = Literal["compile", "clean", "sample", "vocab", "encode", "outputs", "report"]


class PublishSettings(Section):
    """An object store, or another place that fsspec can write to, that receives a copy of the files for training."""

    url: Annotated[str, StringConstraints(pattern=_URL), AfterValidator(lambda url: url.rstrip("/"))]
    """a URL such as s3://bucket/prefix, gs://bucket/prefix, hf://datasets/owner/name or file:///path, without user and
    password: where the copy goes; credentials come from the environment"""
    stages: Annotated[tuple[Publishable, ...], Field(min_length=1)] | None = None
    """a list of compile, clean, sample, vocab, encode, outputs and report, or null for vocab, encode, report and, if
    there are any, outputs: the stages whose output is copied"""
    options: dict[str, Any] = Field(default_factory=dict)
    """a mapping without credentials: options of the fsspec file system, such as endpoint_url"""
    retries: Count = Field(5, ge=0, le=100)
    """an integer from 0 to 100: attempts after the first of each request"""

    @field_validator("options")
    @classmethod
    def _no_secrets(cls, options: dict[str, Any]) -> dict[str, Any]:
        secrets = sorted(_secret_keys(options))
        if secrets:
            raise ValueError(f"leave {secrets[0]} out of the config; credentials come from the environment")
        return options


def _secret_keys(options: object) -> set[str]:
    """Returns the keys, at any depth, whose names suggest a secret."""
    if isinstance(options, dict):
        named = {str(key) for key in options if _SECRET.search(str(key))}
        return named.union(*map(_secret_keys, options.values()))
    return set().union(*map(_secret_keys, options)) if isinstance(options, list) else set()
