"""Taking items through stages: the runner, the ledger of what is paid and finished, batches, and live counts."""
