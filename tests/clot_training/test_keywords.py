"""Keywords of three languages behind one door."""

import pytest

from clot_training.data import keywords
from clot_training.data.keywords import content_words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("en", "Nobody told the old dog about Peter's taxes; it quickly sold the couch.", "told old dog taxes "
         "quickly sold couch"),
        ("en", "It is what it is, and we will have been there.", ""),
        ("zh", "愤怒的小猫快乐地吃美味的鱼，张三在北京突然唱歌。", "愤怒 小猫 快乐 吃 美味 鱼 唱歌"),
        ("ja", "静かな猫がゆっくり魚を食べていることがある。太郎は東京で働くはずだった。", "静か 猫 ゆっくり 魚 食べる 働く"),
        ("en", "", ""),
        ("zh", "……！", ""),
        ("ja", "猫、猫、猫", "猫"),
    ],
)  # fmt: skip
def test_content_words(language: str, text: str, words: str) -> None:
    assert content_words([text, text], language) == [tuple(words.split())] * 2


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_stop_words_are_words(language: str) -> None:
    stopped = keywords.stop_words(language)
    assert len(stopped) > 40
    assert "" not in stopped
