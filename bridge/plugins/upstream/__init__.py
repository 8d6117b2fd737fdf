"""Which plugins are behind their repositories; changes nothing."""
