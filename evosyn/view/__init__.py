"""`evosyn view`: a run or a dataset as one web page, served on this machine or written as one file.

It decides nothing and replays nothing of its own: what it shows comes from the readers of `evosyn inspect`. `run` and
`data` answer questions about a directory, `page` is the HTML around the answers, `server` gives it to a browser.
"""
