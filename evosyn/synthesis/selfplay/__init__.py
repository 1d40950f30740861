"""A pool of environments that grows while a student trains on it: EvoEnv's loop as a feed (`evosyn coevolve --recipe
evoenv`). docs/coevolve.md."""
