"""Pictures: what a file shows, drawings rendered, contact sheets."""
