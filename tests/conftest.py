"""For all tests: interrupts reach the commands that tests start, however the test run itself was started."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a background job of a shell; children would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
