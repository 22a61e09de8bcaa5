"""Waiting for something to come true, with a deadline."""

import time


class Failed(Exception):
    """A scenario did not see what it must see."""


def wait_until(what, probe, seconds=20):
    """The first true answer of `probe`. `what` may be a function that says what was missing at the end."""
    deadline = time.monotonic() + seconds
    while True:
        answer = probe()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise Failed(f"waited {seconds} s for {what() if callable(what) else what}")
        time.sleep(0.05)
