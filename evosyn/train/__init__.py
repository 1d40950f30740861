"""Training on a dataset: RLVR, distillation, evaluation, the reward as a service. The only user of torch and trl."""
