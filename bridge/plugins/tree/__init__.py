"""What a plugin's tree claims, and who vouches for it."""
