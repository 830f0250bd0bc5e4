"""The training side of lotbench: CLoTv2 adapters from Oogiri rows."""
