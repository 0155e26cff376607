"""The messages between the gateway part and the engine, one JSON object per line."""
