"""Parts of the offline teacher (`simulation.offline`): knowledge, mutation, study, drawing, families."""
