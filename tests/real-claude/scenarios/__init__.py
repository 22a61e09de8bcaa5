"""What must hold, told as stories. Each asserts what is written in tmux at every step."""

from scenarios import dialogs, parallel, sessions, setup, turns
from scenarios.telling import SCENARIOS

__all__ = ["SCENARIOS", "dialogs", "parallel", "sessions", "setup", "turns"]
