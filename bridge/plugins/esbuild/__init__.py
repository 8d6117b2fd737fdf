"""The bundler's binary: pinned, verified, limited."""
