"""Strategies as strongly typed expression trees: made, varied, simplified, written as ordinary source and read back."""
