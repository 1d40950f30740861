"""A simulated author of environments, its judges, reviewers and solvers: `evosyn env make` without a key."""
