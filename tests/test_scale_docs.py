"""Runs the Slurm script of docs/scale.md with a stand-in for sbatch."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import nmt_prep
from tests.corpus import corpus_config, tree, write_corpus

PAGE = Path(__file__).resolve().parent.parent / "docs" / "scale.md"

SBATCH = """#!/bin/bash
# Runs a job at once, the members of an array in reverse, one of them twice; prints the job's number.
set -euo pipefail
array=; dependency=; command=
while (($#)); do
    case $1 in
        --array=*) array=${1#*=} ;;
        --dependency=*) dependency=${1#*=} ;;
        --wrap) command=$2; shift ;;
        --parsable|--export=ALL|--nodes=1|--cpus-per-task=*|--mem=*) ;;
        *) echo "sbatch: unknown option $1" >&2; exit 2 ;;
    esac
    shift
done
job=$(($(wc -l <"$JOBS") + 1))
echo "$job ${array:--} ${dependency:--} $command" >>"$JOBS"
if [ -z "$array" ]; then
    bash -c "$command" >&2
else
    for ((member = ${array#*-}; member >= 0; member--)); do
        SLURM_ARRAY_TASK_ID=$member bash -c "$command" >&2
    done
    SLURM_ARRAY_TASK_ID=0 bash -c "$command" >&2
fi
echo "$job"
"""


def script() -> str:
    [text] = re.findall(r"```bash\n(#!/bin/bash\n# prepare\.sh.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return str(text)


def executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.mark.slow
def test_the_chain_of_jobs_gives_the_same_as_a_run(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    nmt_prep.run(corpus_config(tmp_path / "plain"))
    config = tmp_path / "c.yaml"
    settings = corpus_config(tmp_path / "run").model_dump(mode="json", exclude_unset=True)
    config.write_text(yaml.safe_dump(settings, sort_keys=False))
    programs = tmp_path / "bin"
    programs.mkdir()
    executable(programs / "sbatch", SBATCH)
    executable(programs / "nmt-prep", f'#!/bin/bash\nexec "{sys.executable}" -m nmt_prep "$@" --quiet\n')
    executable(programs / "prepare.sh", script())
    jobs = tmp_path / "jobs"
    jobs.touch()
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "JOBS": str(jobs),
    }
    subprocess.run([programs / "prepare.sh", config, "2"], env=environment, cwd=tmp_path, check=True)
    assert tree(tmp_path / "run") == tree(tmp_path / "plain")
    lines = jobs.read_text().splitlines()
    assert len(lines) == 14
    assert lines[1].startswith("2 0-1 afterok:1 nmt-prep run ")
    assert (
        lines[4]
        == f"5 0-1 afterany:4 nmt-prep run '{config}' --round compile --task-id $SLURM_ARRAY_TASK_ID --num-tasks 2"
    )
    assert lines[13] == f"14 - afterok:13 nmt-prep run '{config}' --until report"


def test_the_script_is_valid_bash() -> None:
    subprocess.run(["bash", "-n"], input=script(), text=True, check=True)
