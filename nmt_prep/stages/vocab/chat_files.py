"""The chat template of an existing vocabulary: its files beside the tokenizer.json, or where the config names one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nmt_prep.config import Config
from nmt_prep.stages.download import needed_vocabularies
from nmt_prep.subwords.chat.template import CONFIG_FILE, TEMPLATE_FILE, ChatTemplate

CHAT_FILE = "chat.json"  # Name of the stage's file with the chat template


def has_chat_template(config: Config) -> bool:
    """Returns true if rows are made with a chat template."""
    return config.records.causal and config.records.template is not None


def chat_template(config: Config, files: Sequence[Path]) -> ChatTemplate:
    """Returns a config's chat template, given its vocabulary's files: local ones, or all fetched ones."""
    named = {path.name: path for path in (*_beside(files[0]), *files)}
    return ChatTemplate.read(named.get(CONFIG_FILE), _own(config) or named.get(TEMPLATE_FILE), config.records.variables)


def chat_files(config: Config) -> dict[str, Path]:
    """Returns the local files of the chat template, by their keys."""
    if not has_chat_template(config):
        return {}
    own = _own(config)
    files = {} if own is None else {"records.chat_template": own}
    for needed in needed_vocabularies(config):
        if (path := needed.local(config.base_dir)) is not None:
            files |= {f"{needed.key}: {file.name}": file for file in _beside(path)}
    return files


def chat_settings(config: Config) -> dict[str, object]:
    """Returns the chat template's settings, as stage settings, or an empty mapping without a template."""
    return {"records.variables": config.records.variables} if has_chat_template(config) else {}


def _own(config: Config) -> Path | None:
    own = config.records.chat_template
    return None if own is None else config.base_dir / Path(own).expanduser()


def _beside(vocabulary: Path) -> list[Path]:
    paths = (vocabulary.with_name(name) for name in (CONFIG_FILE, TEMPLATE_FILE))
    return [path for path in paths if path.is_file()]
