"""
The commands around a plugin's signature: ``keygen``, ``sign`` and ``verify``.

In a git work tree the committed bytes are signed, not those on disk: they are what
a clone gets, whatever line endings and filters made of the files here.
"""

from __future__ import annotations

import secrets
import time
from pathlib import Path

import click

from ....plugins.tree.manifest import load_manifest
from ....plugins.tree.tree import SIGNATURE_FILE, verify_tree
from ....protocol.text import iso_time
from ....settings.host import Paths
from ...authoring import worktree
from ...authoring.programs import typed_git
from ...command import command, directory_argument, json_option, path_option
from ...terminal import print_result, reported, write_private


@command("keygen", "--show", table=())
@path_option(
    "--out",
    "-o",
    metavar="FILE",
    help="The file to create; an existing file is never replaced.  [default: "
    "(plugin-bridge/signing-key in the user's configuration directory)]",
)
@click.option(
    "--show", is_flag=True, help="Create nothing; print the fingerprint of your key."
)
@worktree.key_option
@json_option
def keygen(out: Path | None, show: bool, key: Path | None, as_json: bool) -> None:
    """
    Create a signing key and print its fingerprint, which users compare.

    Anyone who has the key file can sign as you: keep a backup, and never publish it.
    """
    if (out if show else key) is not None:
        raise click.UsageError("--key goes with --show, and --out without it")
    if show:
        found = worktree.chosen_key(key).fingerprint
        print_result(as_json, {"keyId": found}, [found])
        return
    path = out or worktree.default_key_file()
    seed = secrets.token_bytes(worktree.SEED_BYTES)
    if not out:
        with reported(f"{path.parent} cannot be created"):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, seed.hex().encode() + b"\n")
    found = worktree.SigningKey(seed).fingerprint
    lines = [
        f"key file     {path} (keep a backup; never publish it)",
        f"fingerprint  {found} (publish it for users)",
    ]
    print_result(as_json, {"file": str(path), "keyId": found}, lines)


@command("sign", ".")
@worktree.key_option
@directory_argument
def sign(place: Paths, key: Path | None, directory: Path) -> None:
    """
    Sign the plugin in DIR and write its plugin.sig.

    In a git work tree it signs the committed files, and refuses to sign if anything is
    not committed, or if the clock is behind the last signature.
    """
    profile = place.profile
    worktree.check_host(directory, place)
    signing = worktree.chosen_key(key)
    if worktree.is_work_tree(directory):
        worktree.check_clean(directory, {SIGNATURE_FILE})
        worktree.check_format(directory)
    tree = worktree.published_tree(directory)
    manifest = load_manifest(tree, profile)
    signing.check_outside(directory, tree.files)
    signing.check_clock(directory)
    with reported(f"{SIGNATURE_FILE} cannot be written"):
        signing.sign(directory, tree, manifest, profile)
    print(f"signed       {manifest.id} {manifest.version} for {profile.application}")
    print(f"fingerprint  {signing.fingerprint}")
    print(f"wrote        {directory / SIGNATURE_FILE}")
    print("Commit it and push. After any other change to the tree, sign again.")
    if SIGNATURE_FILE not in worktree.published(directory):
        add = f"{typed_git(directory)} add --force {SIGNATURE_FILE}"
        print(f"warning: git ignores it; run: {add}")
    if note := worktree.folder_note(directory):
        print(f"warning: {note}")


@command("verify", ".")
@json_option
@directory_argument
def verify(place: Paths, directory: Path, as_json: bool) -> None:
    """
    Verify the signature of the plugin in DIR as the daemon does, and print the
    fingerprint of the key.

    It does not check whether the key is trusted. In a git work tree it ignores what git
    ignores.
    """
    tree = worktree.published_tree(directory)
    manifest = load_manifest(tree, place.profile)
    signed = verify_tree(tree, manifest.id, place.profile, time.time())
    lines = [
        f"signed       {manifest.id} {manifest.version}",
        f"fingerprint  {signed.key_id}",
    ]
    if signed.signed_at:
        dated = iso_time(signed.signed_at * 1000)
        lines.append(f"dated        {dated} (by its author)")
    value = {
        "id": manifest.id,
        "version": manifest.version,
        "keyId": signed.key_id,
        "signedAt": signed.signed_at,
    }
    print_result(as_json, value, lines)
