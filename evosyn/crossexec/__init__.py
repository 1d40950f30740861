"""The judge, and the grids that it fills: from a problem, its solutions and its testings to verdicts and matrices."""
