"""Reports as HTML pages, with their plots and tables."""
