"""The table 2 experiment: the same problems and budget, training data that differ only in how they were chosen."""
