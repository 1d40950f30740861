"""What stands in for a model in tests, benchmarks and demos: no part of the package."""

TEACHER = "simulation.offline:create"
"""`--teacher` of the simulated author; a strength may follow (`:weak`, `:mixed`, `:strong`)."""
AGENT = "simulation.agents:create"
"""`--agent` that follows a script, whose name follows (`:gold`, ...)."""
