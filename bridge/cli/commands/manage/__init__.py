"""Commands that manage plugins and keys without the page."""
