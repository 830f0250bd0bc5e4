"""Building a RINoBench data set from reviewed papers (rinobench.txt, Sec. 4.1)."""
