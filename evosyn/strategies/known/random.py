"""Random control: scores drawn from a hash of the texts; without texts everything ties and the tie rule draws.

What a strategy must beat. It depends on neither the order of the solutions nor that of the testings; under `expected`
ties a problem without texts gets exactly the mean over all random rankings.
"""

import hashlib

import numpy as np


def rank(evidence):
    solutions, testings = evidence.solution_texts, evidence.testing_texts
    salt = "".join(sorted(solutions) + sorted(testings))
    rows, columns = evidence.passed.shape
    return draw(solutions, salt, rows), draw(testings, salt, columns)


def draw(texts, salt, size):
    if not texts:
        return np.zeros(size)
    prefix = hashlib.sha256(salt.encode("utf-8", "surrogatepass"))
    scores = []
    for text in texts:
        digest = prefix.copy()
        digest.update(text.encode("utf-8", "surrogatepass"))
        scores.append(int.from_bytes(digest.digest()[:6], "big") / 2.0**48)
    return np.array(scores)
