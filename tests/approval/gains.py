"""What the plugins of prompts gain."""

from bridge.approval.wording import Difference, Differences


def gains_of(*gains: list[str]) -> Differences:
    """
    Return what a plugin gains that loses nothing.

    :param gains: As ``Differences`` has them: permissions, optional ones, hosts,
        actions and events.
    """
    return Differences(*(Difference(gained, []) for gained in gains))
