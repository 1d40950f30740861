"""Programs and testings, drawn; what plain Python makes of them; and whether evosyn agrees."""
