"""Reports as pages of their own: HTML, plots, tables."""
