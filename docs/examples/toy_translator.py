"""A word-by-word translator, as a stand-in for a real one: learns which words have the same place in two files.

python toy_translator.py learn SOURCE TARGET MODEL
python toy_translator.py translate MODEL
"""

import sys
from collections import Counter, defaultdict
from pathlib import Path


def learn(source: str, target: str, model: str) -> None:
    """Writes each word of the source file with the most frequent word in its place."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    files = (Path(name).read_bytes().decode().split("\n") for name in (source, target))
    for lines in zip(*files, strict=True):
        for word, other in zip(*(line.split() for line in lines), strict=False):
            found[word][other] += 1
    rows = (f"{word}\t{others.most_common(1)[0][0]}\n" for word, others in sorted(found.items()))
    Path(model).write_text("".join(rows), "utf-8")


def translate(model: str) -> None:
    """Translates the lines of standard input."""
    words = dict(line.split("\t") for line in Path(model).read_text("utf-8").splitlines())
    for line in sys.stdin.buffer:
        sys.stdout.write(" ".join(words.get(word, word) for word in line.decode().split()) + "\n")


if __name__ == "__main__":
    command, *files = sys.argv[1:]
    {"learn": learn, "translate": translate}[command](*files)
