"""The interface between benchmarks and the code that runs them: benchmark, state, loop, judge validation."""
