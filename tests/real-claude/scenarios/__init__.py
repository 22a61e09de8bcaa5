"""What must hold, told as stories. Each asserts what is written in tmux at every step."""

from scenarios import dialogs, hub, parallel, queue, returning, sessions, setup, turns
from scenarios.telling import SCENARIOS

__all__ = ["SCENARIOS", "dialogs", "hub", "parallel", "queue", "returning", "sessions", "setup", "turns"]
