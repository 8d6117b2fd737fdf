"""Which addresses are private, and whose certificates are trusted."""
