"""An author's work tree stands in for an installed one."""
