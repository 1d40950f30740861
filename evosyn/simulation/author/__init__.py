"""Parts of the offline teacher (`evosyn.simulation.offline`): knowledge, mutation, study, drawing, families."""
