"""A run put together: plan, session, results, scoring again."""
