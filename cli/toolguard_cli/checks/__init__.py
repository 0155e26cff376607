"""The checks of `doctor`: each looks at one thing and answers a `Check`; none prints, none changes anything."""
