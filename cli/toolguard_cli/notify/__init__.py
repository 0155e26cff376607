"""Notifications about held calls and other events: a process that follows what the engines write, and sends."""
