"""Step 2: candidates under weak conditions, filtered and ranked (explorative self-refinement)."""
