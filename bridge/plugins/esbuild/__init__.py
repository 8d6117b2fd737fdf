"""The bundler's binary: pinned, verified, limited; and how it reads sources."""
