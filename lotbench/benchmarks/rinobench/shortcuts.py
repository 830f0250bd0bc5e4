"""Players that read too little to judge novelty: the idea alone, the related works alone, or how alike they are.

Novelty is a relation of an idea to its related works, so whoever scores well without one of the two has found a
shortcut in the data set. Each player is trained on other ideas than those that it scores (cross-validation; ideas of
a block stay together) and stands beside the models in the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from lotbench.benchmarks.rinobench.sample import Item
from lotbench.metrics.intervals import Floats

FOLDS = 5
FEWEST = 20
"""Ideas, or blocks of them, below which nothing can be learnt that would say anything."""
NEAREST = 3
"""The related works most like the idea, whose likeness is read one by one."""


def shortcuts(items: Sequence[Item]) -> Mapping[str, tuple[int, ...]]:
    """The score that each such player gives to each idea, by player; none for too few ideas or a single score.

    `idea alone` and `works alone` are bags of words (naive Bayes, which of six simple classifiers found most in the first
    edition's ideas); `likeness` sees the cosines of idea and related works (logistic regression), and no word.
    """
    return _scores(tuple(items))


@lru_cache(maxsize=4)
def _scores(items: tuple[Item, ...]) -> dict[str, tuple[int, ...]]:
    groups = [item.block or item.id for item in items]
    if len(set(groups)) < FEWEST or len({item.novelty_score for item in items}) < 2:
        return {}
    ideas = [item.research_idea.told() for item in items]
    works = ["\n".join(f"{work.title}\n{work.abstract}" for work in item.related_works) for item in items]
    words = make_pipeline(CountVectorizer(min_df=2), MultinomialNB(fit_prior=False))
    numbers = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced"))
    inputs: dict[str, tuple[Pipeline, Sequence[str] | Floats]] = {
        "idea alone": (words, ideas),
        "works alone": (words, works),
        "likeness": (numbers, likeness(items)),
    }
    gold = [item.novelty_score for item in items]
    # A class that a fold has more of is rarer in training: unless folds are alike, guessing ends up below chance.
    folds = StratifiedGroupKFold(FOLDS)
    return {
        name: tuple(int(score) for score in cross_val_predict(model, read, gold, groups=groups, cv=folds))
        for name, (model, read) in inputs.items()
    }


def likeness(items: Sequence[Item]) -> Floats:
    """[ideas, 4]: the cosines (tf-idf) of an idea and the works most like it, the nearest first, and the mean of all."""
    told = [
        [item.research_idea.told(), *(f"{work.title}\n{work.abstract}" for work in item.related_works)]
        for item in items
    ]
    weighing = TfidfVectorizer(sublinear_tf=True).fit([text for texts in told for text in texts])
    rows = []
    for texts in told:
        idea, *works = weighing.transform(texts).toarray()
        cosines = np.sort(np.array(works) @ idea)[::-1]
        nearest = np.pad(cosines[:NEAREST], (0, max(0, NEAREST - len(cosines))))
        rows.append([*nearest, cosines.mean()])
    return np.array(rows)
