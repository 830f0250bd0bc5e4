"""The LangGraph graphs of lotbench, each with a drawing in a .mmd file."""
