"""Building a LoTbench data set from responses that people voted on (lotbench.txt, Sec. 5.3)."""
