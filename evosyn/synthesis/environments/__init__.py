"""Making environments: what a draft is, what is asked about it, and the stages that it goes through."""
