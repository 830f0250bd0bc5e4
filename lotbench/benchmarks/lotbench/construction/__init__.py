"""Building a LoTbench data set from responses that people voted on (paper, Sec. 5.3)."""
