"""`toolguard doctor`: its checks, its fixes and the live proof."""
