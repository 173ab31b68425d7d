"""A scheduler by questions and answers: on a terminal you answer, else these answers are given."""
import io
import sys

from strata.place import interactive_scheduler_setup

answers = None if sys.stdin.isatty() else io.StringIO("llm\nyes\nyes\nyes\nno\nno\n")
scheduler = interactive_scheduler_setup(answers=answers)
print("on:", ", ".join(name for name, on in scheduler.feature_flags.items() if on))
