"""The Oogiri game as data: rows, the held-out split, and problems.

Evaluation and training share this code, so that training never sees held-out rows.
"""

from lotbench.benchmarks.standard.oogiri.row import Language, Ratings, Row, Type, held_out

__all__ = ["Language", "Ratings", "Row", "Type", "held_out"]
