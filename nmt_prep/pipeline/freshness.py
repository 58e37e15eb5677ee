"""Determines which stages are out of date, and why."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nmt_prep.base.digests import DigestCache
from nmt_prep.base.errors import DownloadError, OutputError
from nmt_prep.base.runtime import available_cores
from nmt_prep.config import Config
from nmt_prep.corpora.archives.extraction import is_plain
from nmt_prep.corpora.sources.lockfile import LockFile
from nmt_prep.pipeline.draft import drafts_of
from nmt_prep.pipeline.manifest import Manifest, Workspace, differences, read_manifest
from nmt_prep.pipeline.stage import AnyStage, Outputs


class Freshness:
    """Compares a config's stages with their manifests and files in the workspace."""

    def __init__(self, config: Config, workspace: Workspace, digests: DigestCache, lock: LockFile) -> None:
        # use cached digests of files whose sizes and times are unchanged, instead of reading the files
        self.trust = True
        self._config = config
        self._workspace = workspace
        self._digests = digests
        self._lock = lock

    def _read(self, stage: AnyStage) -> Manifest | None:
        return read_manifest(self._workspace.manifest(stage.name))

    def manifest(self, stage: AnyStage) -> Manifest:
        manifest = self._read(stage)
        if manifest is None:
            raise OutputError(f"{self._workspace.manifest(stage.name)} was deleted during the run; run again")
        return manifest

    def reason(self, stage: AnyStage, above: Mapping[str, Manifest], force: Collection[str] = ()) -> str:
        """Returns why a stage must run, or an empty text if the stage is up to date."""
        inputs = self.inputs(stage, above)
        if stage.name in force:
            return "requested by --force"
        manifest = self._read(stage)
        if manifest is None:
            begun = drafts_of(self._workspace.private, stage.directory).exists()
            return "was interrupted" if begun else "never run here"
        reasons = differences(manifest, stage.version, stage.settings(self._config), inputs)
        damage = "; ".join(reasons) or self._damage(stage, manifest)
        if not damage and not self.trust:
            known = {**above, stage.name: manifest}
            damage = stage.misnamed(Outputs(self._config, self._workspace.root, known))
        return damage or stage.outdated(manifest, self._config, self._lock)

    def renewable(self, stage: AnyStage, fingerprint: str) -> Manifest | None:
        """Returns the manifest of a stage whose files are intact but which is outdated; None for other stages."""
        manifest = self._read(stage)
        if manifest is None or manifest.fingerprint != fingerprint or self._damage(stage, manifest):
            return None
        return manifest if stage.outdated(manifest, self._config, self._lock) else None

    def follow(self, stage: AnyStage, above: Sequence[str]) -> str:
        """Returns why a stage must run after other stages that run, including changes of its own."""
        manifest = self._read(stage)
        own = manifest and differences(manifest, stage.version, stage.settings(self._config), manifest.inputs)
        names = " and ".join(filter(None, [", ".join(above[:-1]), above[-1]]))
        return "; ".join([f"follows {names}", *(own or ())])

    def inputs(self, stage: AnyStage, above: Mapping[str, Manifest]) -> dict[str, str]:
        """Returns the digests of a stage's inputs."""
        manifests = {stage_.name: above[stage_.name] for stage_ in stage.inputs(self._config)}
        inputs = {name: stage.digest_of_input(manifest) for name, manifest in manifests.items()}
        local = stage.local_files(self._config)
        with ThreadPoolExecutor(available_cores()) as pool:
            digests = {path: pool.submit(self._digest, path, stage.divides) for path in local.values()}
        for name, path in local.items():
            try:
                inputs[f"file {name}"] = digests[path].result()
            except OSError as error:
                raise DownloadError(
                    f"cannot read {path} ({name} in the config): {error.strerror}; "
                    "local paths are relative to the config file"
                ) from error
        return inputs

    def _digest(self, path: Path, divides: bool) -> str:
        return self._digests.digest(path, trust=self.trust, steps=divides and is_plain(path))

    def _damage(self, stage: AnyStage, manifest: Manifest) -> str:
        for name, digest in manifest.files.items():
            path = self._workspace.file(stage.directory, name)
            try:
                if self._digests.digest(path, trust=self.trust) != digest:
                    return f"{path} was changed after it was made"
            except OSError:
                return f"{path} is missing"
        return ""
