"""From rows to instructions: the index of rows, content words, wordings of prompts, and models that help."""
