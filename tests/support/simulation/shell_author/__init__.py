"""A stand-in for a model that works on a Linux system: tasks, agents and testings, all of them SIMULATED.

It knows each task's right commands and its tempting mistakes from its family, a YAML file of `families`. Where an
answer is what the shell printed, it is read from the last message, so wrong commands give wrong answers for the right
reason. docs/os-shell.md.
"""
