"""RINoBench: judge the novelty of a research idea, with a justification (rinobench.txt, Sec. 4)."""
