"""What must hold, told as stories. Each asserts what is written in tmux at every step."""

from scenarios import dialogs, hub, leaving, parallel, queue, returning, sessions, setup, turns
from scenarios.telling import SCENARIOS

__all__ = ["SCENARIOS", "dialogs", "hub", "leaving", "parallel", "queue", "returning", "sessions", "setup", "turns"]
