"""Reading what models write: texts in, records out; linear time, arbitrary text never raises."""
