"""
Runs the model: ``python -m tests.model [--examples N] [--steps N] [--seed S]``.
"""

import argparse
import os
import sys

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from .machine import BridgeMachine
from .simulation import be_quiet

_QUICK = (Phase.explicit, Phase.generate)


def main() -> None:
    """Run as many examples as wanted."""
    parser = argparse.ArgumentParser(prog="python -m tests.model")
    parser.add_argument("--examples", type=int, default=50)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shrink", action="store_true", help="look for fewer steps")
    chosen = parser.parse_args()
    for name in ("DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"):
        os.environ.pop(name, None)
    # A failure is reported below it.
    sys.stdout.write(f"seed {chosen.seed}\n")
    sys.stdout.flush()
    be_quiet()
    run_state_machine_as_test(
        seed(chosen.seed)(type("Machine", (BridgeMachine,), {})),
        settings=settings(
            max_examples=chosen.examples,
            stateful_step_count=chosen.steps,
            deadline=None,  # the machine may be busy
            database=None,
            report_multiple_bugs=False,
            phases=(*_QUICK, Phase.shrink) if chosen.shrink else _QUICK,
            suppress_health_check=list(HealthCheck),
        ),
    )


if __name__ == "__main__":
    main()
