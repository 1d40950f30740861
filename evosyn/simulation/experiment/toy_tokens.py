"""Tokens that stand in every toy language beside its words. No torch: who only reads or writes texts needs none."""

PAD, END, GO = "<pad>", "<end>", "=>"
"""What fills a batch up, what ends an answer, and what stands between what is asked and what is answered."""
