"""Problems that evolve while a student trains on them: the state, the mutations under way, and the feed over both.

Nothing here trains or knows a trainer: it is behind `ports.Feed`. DejaQ (2601.01931); docs/coevolve.md.
"""
