"""Table 2 of the paper: does the choice of testings matter to who trains on them? `python -m experiments.table2`."""
