"""The seam between benchmarks and the machinery: benchmark, state, loop, judge validation."""
