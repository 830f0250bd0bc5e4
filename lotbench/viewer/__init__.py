"""The viewer: pages from records; pure."""
