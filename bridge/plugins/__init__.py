"""Everything done to a plugin's tree: fetched, validated, kept, compiled."""
