"""Operations while they run: their locks, progress, outcomes, and how to undo them."""
