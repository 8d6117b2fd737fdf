"""What is refused: the table of constructs, and rules on text and file names."""
