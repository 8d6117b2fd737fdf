"""Operations while they run: their locks, progress and outcomes."""
