"""From rows to instructions: words, templates, roles."""
