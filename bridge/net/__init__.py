"""Which addresses are private, and which authorities are trusted."""
