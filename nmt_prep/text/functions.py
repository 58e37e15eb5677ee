"""Python functions that a config names."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import sysconfig
import traceback
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from nmt_prep.base.runtime import kept


def load_function(name: str, base_dir: Path, group: str) -> tuple[Callable[..., Any], Path | None]:
    """Returns the function that a config names, and the file that defines it.

    ``name`` is ``module:function``, beside the config in ``base_dir`` or installed, or an entry point of the group.
    """
    module_name, colon, attribute = name.partition(":")
    if not colon:
        found = entry_points(group=group, name=name)
        if not found:
            raise ValueError(f"{name} is no entry point of the group {group}; name a function as module:function")
        module_name, _, attribute = next(iter(found)).value.partition(":")
    beside = base_dir / module_name.replace(".", "/")
    file = next((path for path in (beside.with_suffix(".py"), beside / "__init__.py") if path.is_file()), None)
    try:
        module = importlib.import_module(module_name) if not colon or file is None else _beside(file, base_dir)
    except ModuleNotFoundError as error:
        if error.name != module_name:
            raise ValueError(f"cannot import {module_name}: {error}") from error
        raise ValueError(
            f"there is no module {module_name}, neither beside the config in {base_dir} nor installed"
        ) from error
    except (Exception, SystemExit) as error:
        raise ValueError(f"cannot import {module_name}: {described(error)}") from error
    function: Any = module
    for part in attribute.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        message = f"{module_name} has no function {attribute or '(none is named after the colon)'}"
        raise ValueError(message)  # noqa: TRY004  (what is wrong is the name in the config)
    source = module.__file__
    return function, None if source is None else Path(source)


def described(error: BaseException) -> str:
    """Returns an error's text, with the last file and line in the user's code that led to it.

    Skips frames of the standard library, of installed packages and of this package.
    """
    libraries = tuple(map(sysconfig.get_path, ("stdlib", "purelib", "platlib")))
    here = str(Path(__file__).parents[1])
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((here, "<", *libraries))
    ]
    where = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


@kept(64)
def _module(path: Path, digest: str, base_dir: Path) -> ModuleType:
    """Imports a file under a unique name, so that modules with the same name beside two configs do not conflict.

    A file with another digest is imported again.
    """
    name = f"_nmt_prep_rule_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(base_dir))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(base_dir))
    return module


def _beside(path: Path, base_dir: Path) -> ModuleType:
    return _module(path.absolute(), hashlib.sha256(path.read_bytes()).hexdigest(), base_dir)
