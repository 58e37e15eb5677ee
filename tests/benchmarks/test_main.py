import json

import pytest

from benchmarks.__main__ import BEGIN, END, PAGE, README, RESULTS, amount, digits, main, with_table
from benchmarks.figures import VARIABLE, Figure, Spent, best, record

FIGURE = Figure(
    "ids, one thread", "MB/s", [Spent(0.5, 0.25), Spent(0.1, 0.1)], "peer 1.0", [Spent(2, 2), Spent(2, 2)], 50
)
RUN = {"date": "2026-01-02", "machine": {"processor": "CPU", "cores": 2}, "figures": []}


def test_a_figure_is_recorded_where_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    record(FIGURE)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "figures"))
    record(FIGURE)
    lines = (tmp_path / "figures").read_text(encoding="utf-8").splitlines()
    assert [Figure.from_json(json.loads(line)) for line in lines] == [FIGURE]


def test_ratios_are_by_the_clock_and_by_processor_time():
    assert FIGURE.ratios() == [(4, 8), (20, 20)]
    assert Figure("x", "s", [Spent(1, 2)]).ratios() == []


def test_the_best_of_several_times_is_the_best_of_each_kind():
    assert best([Spent(3, 1), Spent(2, 4)]) == (2, 1)


@pytest.mark.parametrize(
    ("value", "text"), [(0.0123, "0.012"), (1.25, "1.2"), (9.96, "10"), (12.3, "12"), (123.4, "120"), (98765, "99,000")]
)
def test_numbers_have_two_significant_digits(value, text):
    assert digits(value) == text


def test_amounts_have_their_unit():
    assert amount(FIGURE, Spent(0.5, 0.5)) == "100 MB/s"
    assert amount(Figure("x", "tokens/s", [], amount=46e6), Spent(2, 1)) == "23 M tokens/s"
    assert amount(Figure("x", "s", []), Spent(2.5, 1)) == "2.5 s"


def test_the_tables_stand_between_their_markers():
    figures = [FIGURE, Figure("ids, two threads", "s", [Spent(3, 1)])]
    stored = [json.loads(json.dumps(each.__dict__)) for each in figures]
    runs = {"clean": {**RUN, "figures": stored}, "dedup": {**RUN, "figures": stored[1:]}}
    text = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    head = (
        f"before\n{BEGIN}\nMeasured 2026-01-02 on CPU, 2 cores.\n\n"
        "| what | nmt_prep | peer | times as fast: wall-clock (processor time) |"
    )
    assert with_table(text, {"clean": runs["clean"]}, chosen=True) == (
        f"{head} command |\n|---|---|---|---|---|\n"
        "| ids, one thread | 100 / 500 MB/s | peer 1.0: 25 MB/s | 4.0 (8.0) / 20 | `python -m benchmarks.clean` |\n"
        "| ids, two threads | 3.0 s |  |  | `python -m benchmarks.clean` |\n"
        f"{END}\nafter\n"
    )
    assert with_table(text, runs, chosen=False) == (
        f"{head}\n|---|---|---|---|\n"
        "| **ids** `clean` |  |  |  |\n"
        "| one thread | 100 / 500 MB/s | peer 1.0: 25 MB/s | 4.0 (8.0) / 20 |\n"
        "| two threads | 3.0 s |  |  |\n"
        "| **ids, two threads** `dedup` | 3.0 s |  |  |\n"
        f"{END}\nafter\n"
    )


def test_a_text_without_markers_is_refused():
    with pytest.raises(SystemExit, match="has no lines"):
        with_table("text", {}, chosen=True)


def test_an_unknown_benchmark_is_refused(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["benchmarks", "nonesuch"])
    with pytest.raises(SystemExit):
        main()
    assert "there is no benchmark 'nonesuch'" in capsys.readouterr().err


def test_the_pages_show_the_stored_figures():
    runs = json.loads(RESULTS.read_text(encoding="utf-8"))["runs"]
    for path in (README, PAGE):
        text = path.read_text(encoding="utf-8")
        assert text == with_table(text, runs, chosen=path == README)
    assert [name for name in runs if f"`{name}` |" not in text] == []
    assert README.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].count("\n|") <= 2 + 12
