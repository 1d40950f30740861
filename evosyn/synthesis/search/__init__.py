"""A search for filtering strategies, around its engine: seeds to matrices, finalists to a winner and its card."""
