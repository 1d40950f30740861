"""The parts of `benchmarks/search_quality.py`: the protocol, its results, and what is read from them.

`protocol` says what is compared, `results` keeps what was found, `pools` has the problems, `begins` the programs that a
search starts from, `bench` makes one part, `running` does many side by side, `rows` compares, `report` tells.
"""
