"""Approval by the user, outside the page, before something privileged is done."""

from __future__ import annotations

from .approvers import DevApprover, IApprover, RefusingApprover, denied, unavailable
from .native import announcer, native_approver
from .prompts import Offer, Operation, Prompt, Prompts, host_of, shown

__all__ = [
    "DevApprover",
    "IApprover",
    "Offer",
    "Operation",
    "Prompt",
    "Prompts",
    "RefusingApprover",
    "announcer",
    "denied",
    "host_of",
    "native_approver",
    "shown",
    "unavailable",
]
