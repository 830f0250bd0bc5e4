"""The state machines of lotbench, as LangGraph graphs: few, and each drawn in a .mmd file beside it."""
