"""The checks of `doctor`: each examines one thing and returns a `Check`. No check prints or changes anything."""
