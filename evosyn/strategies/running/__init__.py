"""Running strategy programs over evidences, in the sandbox: any program alone, those of the grammar in stacks."""
