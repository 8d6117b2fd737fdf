"""The bundler as the reader of sources: what it is asked, and what it answers."""
