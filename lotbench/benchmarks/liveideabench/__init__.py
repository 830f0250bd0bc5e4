"""LiveIdeaBench: a scientific idea from one keyword, judged by a panel (liveideabench-v1.txt, liveideabench-v2.txt)."""
