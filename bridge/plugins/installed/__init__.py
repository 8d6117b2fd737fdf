"""What is installed, whose keys are trusted, and how both change atomically."""
