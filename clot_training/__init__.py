"""Training with CLoTv2 (lotbench.txt, Sec. 5): LoRA adapters that learn creative responses from Oogiri rows."""
