"""Files of lotbench's own: data sets, run folders, traces, exports."""
