"""The evolution engine: archives, islands, the loop over a journal, and proposers that ask a model. It knows nothing of
what is evolved (`ports.Evolved`), no sandbox and no model. DESIGN.md section 5."""
