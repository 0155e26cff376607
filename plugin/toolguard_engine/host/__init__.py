"""OpenClaw as toolguard meets it: refusal texts, tool names, Tool Search, plugin loading, and the files toolguard keeps
there."""
