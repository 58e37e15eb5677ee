"""Writes the pairs of a corpus as lines "row, source, target", or reads scored lines "row, ..., score".

score_pairs.py export RUN compiled|cleaned SPLIT CORPUS >pairs.tsv
score_pairs.py import RUN compiled|cleaned SPLIT CORPUS <scored.tsv >scores.txt
"""

import sys
from pathlib import Path

from nmt_prep.corpora import iter_pairs
from nmt_prep.pipeline.manifest import Workspace, read_manifest

STAGES = {"compiled": "compile", "cleaned": "clean"}


def export_pairs(run: Path, directory: str, split: str, corpus: str) -> None:
    for part in details(run, STAGES[directory])["parts"][split]:
        if part["corpus"] == corpus:
            for batch in iter_pairs(run / directory / part["file"]):
                if "row" not in batch.schema.names:
                    sys.exit("the pairs have no rows; add a section clean to the config and run it again")
                columns = (batch.column(name).to_pylist() for name in ("row", "source", "target"))
                for row, source, target in zip(*columns):
                    # tabs and separators that other programs take for the end of a line become spaces
                    print(row, " ".join(source.split()), " ".join(target.split()), sep="\t")


def import_scores(run: Path, split: str, corpus: str) -> None:
    rows = details(run, "compile")["corpora"][split][corpus]["pairs_in"]
    following = 0
    for line in sys.stdin:
        row, *_, score = line.rstrip("\n").split("\t")
        if int(row) < following:
            sys.exit(f"row {row} comes after row {following - 1}; sort the lines by row")
        print("\n" * (int(row) - following), score, sep="")  # an empty line for each row that was dropped
        following = int(row) + 1
    print("\n" * (rows - following), end="")


def details(run: Path, stage: str) -> dict:
    manifest = read_manifest(Workspace(run).manifest(stage))
    if manifest is None:
        sys.exit(f"{run} has no output of the stage {stage}; first run nmt-prep run CONFIG --until {stage}")
    return manifest.details


if __name__ == "__main__":
    action, run, directory, split, corpus = sys.argv[1:]
    if action == "export":
        export_pairs(Path(run), directory, split, corpus)
    else:
        import_scores(Path(run), split, corpus)
