"""All that installs, builds, updates and links plugins, and asks the user first."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial

from .. import __version__
from ..approval.approvers import Approver, DevApprover, native_approver
from ..classes import frozen
from ..http.target import AddressPolicy
from ..plugins.bundle.build import Builder
from ..plugins.bundle.publishing import is_current, sweep
from ..plugins.clone.repositories import Repositories
from ..plugins.installed.exchange import Journal
from ..plugins.installed.records import Trust, read_records
from ..plugins.installed.trees import Trees
from ..plugins.operations.candidate import CandidateFetcher
from ..plugins.operations.changes import PluginChanges
from ..plugins.operations.jobs import Jobs
from ..plugins.operations.prompting import Prompting
from ..plugins.operations.rebuild import Rebuild
from ..plugins.operations.settlement import InstalledSet, notice_of, recover
from ..plugins.policy.scan import Scanner
from ..plugins.upstream.preview import Previewer, Reach
from ..plugins.upstream.updates import Updates
from ..services.linking import DevLinks
from ..services.plugins import PluginService, Pushes
from ..system.files import remove
from .services import Core


@frozen
class PluginWiring:
    """
    What is left to do with the parts that handle plugins.

    :ivar notice: What the operator should see at the start; ``None``: nothing.
    :ivar prepare: Resumes interrupted work; called before listening.
    :ivar finish: What closes the parts at the end, in order.
    """

    notice: str | None
    prepare: Callable[[], object]
    finish: list[Callable[[], object]]


def make_approver(core: Core) -> Approver:
    """Make what confirms privileged operations."""
    application = core.paths.profile.application
    if core.config.dev:
        return DevApprover(core.desktop, application)
    return native_approver(core.reactor, core.desktop, application)


def make_plugins(
    core: Core, approver: Approver, cannot_build: Callable[[], str]
) -> PluginWiring:
    """
    Make every part that has to do with plugins, and what calls them.

    :param cannot_build: Returns why no bundle can be built; empty when one can.
    :raise JournalError: What a killed daemon was doing can't be settled.
    """
    reactor, config, paths, store = core.reactor, core.config, core.paths, core.store
    check = core.threads.checks.call
    random_name = partial(secrets.token_hex, 8)
    trees = Trees(paths.data, paths.profile, random_name)
    journal = Journal(paths.data.journal)
    recovered = recover(journal, store, trees)
    trust = Trust(store)
    sink = Pushes(core.hub.push, trust)
    jobs = Jobs(sink.progress, reactor, core.now, random_name, partial(check, remove))
    builder = Builder(paths, reactor, check)
    rebuild = Rebuild(store, trees, builder, sink, jobs.commit_lock, reactor)
    profile = paths.profile
    words = profile.permission_words
    prompting = Prompting(approver, profile.application, words, trust)
    scanner = Scanner(reactor, check, builder.executable, [profile.api_module])
    client = core.client.trusting(config.ca_file)
    reached = AddressPolicy(config.public_clones_only)
    remotes = Repositories(client, reactor, check, reached)
    fetcher = CandidateFetcher(remotes, scanner, trees, reactor, core.now, check)
    built = jobs, store, trees, rebuild, sink, check
    installed = InstalledSet(*built, journal)

    updates = Updates(store, remotes, reactor)
    parts = jobs, prompting, fetcher, trust, store, trees, check
    changes = PluginChanges(*parts, installed)
    # With ``--dev`` previews reach what installs do.
    reach: Reach = (lambda also: remotes) if config.dev else remotes.public
    previewer = Previewer(*parts, reach, not config.public_clones_only, reactor)
    service = PluginService(
        changes,
        rebuild,
        store,
        trees,
        trust,
        check,
        updates,
        jobs,
        previewer,
        approver,
        paths,
        cannot_build,
    )
    core.offer("plugins", service)
    links = DevLinks(*built, scanner)
    if config.dev:
        core.for_commands.register("dev", links)

    def prepare() -> None:
        sweep(paths.bundle.parent)
        if recovered is not None:
            installed.resume(recovered)
        elif not (
            is_current(paths.bundle, __version__, read_records(store), paths.data.host)
            or cannot_build()
        ):
            rebuild.begin()

    notice = None if recovered is None else notice_of(recovered, store)
    end = partial(installed.close, links.close, reactor)
    return PluginWiring(notice, prepare, [updates.close, end, fetcher.close])
