"""`evosyn view`: any directory as one web page, served on this machine or written as one file.

It reads nothing of its own: `evosyn.reading` answers, `answers` bounds what is said, `page` is the HTML around
the answers, `server` gives it to a browser.
"""
