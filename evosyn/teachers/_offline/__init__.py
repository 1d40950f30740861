"""Parts of the offline teacher (`evosyn.teachers.offline`): knowledge, mutation, study, drawing, families."""
