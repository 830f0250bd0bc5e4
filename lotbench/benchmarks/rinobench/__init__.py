"""RINoBench: is a research idea novel, and does the reasoning hold (rinobench.txt, Sec. 4)."""
