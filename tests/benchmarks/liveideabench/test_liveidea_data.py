"""The keywords of LiveIdeaBench: those that ship, and the official files as a data set."""

from collections import Counter
from pathlib import Path

import pytest

from lotbench.benchmarks.liveideabench.sample import Item
from lotbench.cli import main
from lotbench.storage import datasets

KEYWORDS = ",Keyword\n0,tidal pools\n1,bond markets\n2,tree rings\n"
CLASSES = "keyword,category,similarity_score\ntidal pools,Earth science,0.75\ntree rings,Biology,1.000001\n"


def test_the_shipped_keywords_cover_every_category_of_v2() -> None:
    found = datasets.samples(datasets.shipped("data", "liveideabench"), Item)
    counts = Counter(item.category for item in found)
    assert len(counts) == 22
    assert min(counts.values()) >= 10 and len({item.keyword.lower() for item in found}) == len(found) >= 240


def test_a_keyword_that_stands_twice_is_a_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        Item(id=f"k{n}", language="en", keyword=word, category="c")
        for n, word in enumerate(("Moss", "fern", "moss"))
    ]
    (tmp_path / "samples.jsonl").write_text(
        "".join(f"{row.model_dump_json()}\n" for row in rows), encoding="utf-8"
    )
    assert main(["data", "check", "--benchmark", "liveideabench", str(tmp_path)]) == 2
    assert "samples.jsonl:3: keyword: 'moss' stands in sample k0 already" in capsys.readouterr().err
    shipped = str(datasets.shipped("data", "liveideabench"))
    assert main(["data", "check", "--benchmark", "liveideabench", shipped]) == 0


def test_the_official_files_become_a_data_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kws.csv").write_text(KEYWORDS, encoding="utf-8")
    (tmp_path / "keyword_classifications.csv").write_text(CLASSES, encoding="utf-8")
    out = tmp_path / "made"
    assert main(["data", "import", "liveideabench", str(tmp_path), str(out)]) == 0
    found = datasets.samples(out, Item)
    assert [(item.keyword, item.category, item.similarity) for item in found] == [
        ("tidal pools", "Earth science", 0.75),
        ("bond markets", "without a category", None),
        ("tree rings", "Biology", 1.000001),
    ]
    assert main(["data", "check", "--benchmark", "liveideabench", str(out)]) == 0
    assert main(["data", "import", "liveideabench", str(tmp_path), str(out)]) == 2
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("keywords", "classes", "message"),
    [
        ("Word\nmoss\n", CLASSES, "Keyword: the column is missing"),
        (
            KEYWORDS,
            "keyword,category,similarity_score\nmoss,Biology,near\n",
            "classifications.csv:2: similarity_score",
        ),
    ],
)
def test_faults_of_the_official_files_have_their_place(
    tmp_path: Path, keywords: str, classes: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kws.csv").write_text(keywords, encoding="utf-8")
    (tmp_path / "keyword_classifications.csv").write_text(classes, encoding="utf-8")
    assert main(["data", "import", "liveideabench", str(tmp_path), str(tmp_path / "made")]) == 2
    assert message in capsys.readouterr().err
