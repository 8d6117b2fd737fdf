"""Changes a module in small ways, and looks which tests notice."""
