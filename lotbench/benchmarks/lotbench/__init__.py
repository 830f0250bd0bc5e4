"""LoTbench: the game of leaps (lotbench.txt, Sec. 5)."""
