"""Runs the model: ``python -m tests.model [--examples N] [--steps N] [--seed S]``."""

from __future__ import annotations

import argparse
import os
import sys
import time

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from .machine import BridgeMachine
from .simulation import be_quiet

_PHASES = (Phase.explicit, Phase.generate, Phase.shrink)


def main() -> int:
    """Run as many examples as wanted; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.model")
    parser.add_argument("--examples", type=int, default=50)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-shrink", action="store_true")
    chosen = parser.parse_args()
    for name in ("DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"):
        os.environ.pop(name, None)
    be_quiet()
    sys.stdout.write(f"seed {chosen.seed}\n")
    begun = time.monotonic()
    run_state_machine_as_test(
        seed(chosen.seed)(type("Machine", (BridgeMachine,), {})),
        settings=settings(
            max_examples=chosen.examples,
            stateful_step_count=chosen.steps,
            deadline=None,
            database=None,
            print_blob=False,
            report_multiple_bugs=False,
            verbosity=Verbosity.normal,
            phases=_PHASES[:2] if chosen.no_shrink else _PHASES,
            suppress_health_check=list(HealthCheck),
        ),
    )
    sys.stdout.write(f"{time.monotonic() - begun:.1f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
