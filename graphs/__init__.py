"""The LangGraph graphs of lotbench, each with its Mermaid diagram in a .mmd file."""
