"""Numbers over records: intervals and survival curves, on arrays, knowing no benchmark."""
