"""What is refused: the table of constructs, and rules on imports and file names."""
