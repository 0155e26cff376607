"""Risk-weighted autonomy: a call that costs more than is left, or needs more trust than there is, asks for a checkpoint."""
