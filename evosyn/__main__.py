"""`python -m evosyn` is the command line."""

from evosyn.cli import main

if __name__ == "__main__":
    main()
