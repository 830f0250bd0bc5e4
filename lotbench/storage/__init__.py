"""The files that lotbench reads and writes: data sets, run folders, traces, exports."""
