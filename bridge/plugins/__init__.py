"""Everything done to a plugin's tree: fetched, judged, kept, compiled."""
