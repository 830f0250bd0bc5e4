"""The Oogiri game as data: rows, what is held out of them, and the problems made of them.

Evaluation and training share it, so that what one holds out the other never sees.
"""

from __future__ import annotations

from lotbench.benchmarks.standard.oogiri.row import Language, Ratings, Row, Type, held_out

__all__ = ["Language", "Ratings", "Row", "Type", "held_out"]
