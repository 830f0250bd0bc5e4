"""A report as data: sections, Markdown and JSON, leaderboards, comparisons."""
