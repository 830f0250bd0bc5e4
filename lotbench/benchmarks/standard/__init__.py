"""Standard evaluation: choose and rank the creative responses of the Oogiri game (lotbench.txt, Sec. 4)."""
