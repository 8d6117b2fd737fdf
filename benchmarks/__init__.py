"""What the daemon costs, as ratios against a peer in the same run."""
