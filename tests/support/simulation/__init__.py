"""What stands in for a model in tests, benchmarks and demos: no part of the package."""
