"""The evolution engine: archives, islands, the loop over a journal, and what proposes. It knows no strategy runner, no
sandbox and no model: those reach it through ports. DESIGN.md sections 2 and 5."""
