"""The hostile suite: families of hostile texts, fitted to every way in which evosyn runs an untrusted text.

`families` is the one place where the texts stand; `arenas` run them and an oracle says what each came to. Nothing here
knows how a sandbox is built, only what `docs/sandbox.md` promises of it.
"""
