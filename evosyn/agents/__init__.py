"""Episodes: an agent acts in a world until it is done, and what it did is a solution. docs/os-shell.md."""
