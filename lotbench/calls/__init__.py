"""Everything a call passes: caller, journal, store, budget, preflight."""
