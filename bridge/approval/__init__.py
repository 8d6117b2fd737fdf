"""Approval by the user, outside the page, before something privileged is done."""
