"""Teachers, one a file: `create(...)` gives a `ports.Teacher`. Real models, mailbox, replay."""
