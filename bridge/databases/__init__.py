"""The host application's SQLite databases, read and never written."""
