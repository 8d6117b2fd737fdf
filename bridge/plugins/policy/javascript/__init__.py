"""What the bundler's output breaks: its tokens, and what they mean."""
