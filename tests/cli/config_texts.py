"""Texts of `openclaw.json` before and after: what `install` makes of them, copied and linked.

Each is written as a difference. Lines that begin with a blank stay as they are; the others stand only in

    - the text as it was          + both texts that install makes
    < that with the copied plugin > that with the linked one      = the text as it was, and that with the copied plugin

A line `@ "plugins"` or `@ entries` stands for the lines that install adds from there on: see `_added`. `LINK` stands for the
folder of the plugin. `uninstall` must give every `before` back, byte for byte.
"""

# ruff: noqa: E501 - a line of a config is a line here

from __future__ import annotations

from dataclasses import dataclass

BEFORE, COPIED, LINKED = " -=", " +=<", " +>"


@dataclass(frozen=True)
class Case:
    """One config: as it was, with the copied plugin, with the linked one."""

    id: str
    before: str
    copied: str
    linked: str


def _added(line: str) -> list[str]:
    """What install adds from `plugins` or `entries` on, up to the bracket that closes `entries` or `load`."""
    key = line.lstrip()
    indent, quote = line.removesuffix(key), '"' * key.startswith('"')
    unit = indent if "plugins" in key else indent[: len(indent) // 2]
    inner = indent + unit if "plugins" in key else indent
    return [
        *([f"+ {indent}{key}: {{"] if "plugins" in key else []),
        f"+ {inner}{quote}entries{quote}: {{",
        f"+ {inner}{unit}{quote}toolguard{quote}: {{",
        f"+ {inner}{unit}{unit}{quote}enabled{quote}: true",
        f"+ {inner}{unit}}}",
        f"> {inner}}},",
        f"> {inner}{quote}load{quote}: {{",
        f'> {inner}{unit}{quote}paths{quote}: ["LINK"]',
        f"+ {inner}}}",
    ]


def _case(name: str, difference: str) -> Case:
    newline = "\r\n" if name == "CRLF" else "\n"
    end = "" if name in WITHOUT_END else newline
    lines = [
        each for line in difference.strip("\n").split("\n") for each in (_added(line[2:]) if line[0] == "@" else [line])
    ]

    def text(marks: str) -> str:
        return newline.join(line[2:] for line in lines if line[0] in marks) + end

    return Case(name, text(BEFORE), text(COPIED), text(LINKED))


WITHOUT_END = {"no line break at the end", "single line without blanks"}
DIFFERENCES = {
    "empty object": """
- {}
+ {
@   "plugins"
+   }
+ }
""",
    "no line break at the end": """
- {}
+ {
@   "plugins"
+   }
+ }
""",
    "single line": """
- {"gateway": {"mode": "local"}}
< {"gateway": {"mode": "local"}, "plugins": { "entries": { "toolguard": { "enabled": true } } }}
> {"gateway": {"mode": "local"}, "plugins": { "entries": { "toolguard": { "enabled": true } }, "load": { "paths": ["LINK"] } }}
""",
    "single line without blanks": """
- {"gateway":{"mode":"local"}}
< {"gateway":{"mode":"local"},"plugins":{"entries":{"toolguard":{"enabled":true}}}}
> {"gateway":{"mode":"local"},"plugins":{"entries":{"toolguard":{"enabled":true}},"load":{"paths":["LINK"]}}}
""",
    "commented": """
  // My gateway
  {
    // how it listens
    gateway: { mode: "local", port: 18789 }, // keep this port
    /* agents
       come later */
    agents: {
      defaults: { workspace: "~/w" }
+   },
@   plugins
    }
    // the end
  }
""",
    "JSON with four spaces": """
  {
      "gateway": {
          "mode": "local"
      },
-     "agents": {}
+     "agents": {},
@     "plugins"
+     }
  }
""",
    "tabs": """
  {
  \t"gateway": {
  \t\t"mode": "local"
+ \t},
@ \t"plugins"
  \t}
  }
""",
    "CRLF": """
  {
    "gateway": {
      "mode": "local"
+   },
@   "plugins"
    }
  }
""",
    "byte order mark": """
  \ufeff{
-   "gateway": {"mode": "local"}
+   "gateway": {"mode": "local"},
@   "plugins"
+   }
  }
""",
    "trailing commas": """
  {
    gateway: {
      mode: 'local',
    },
    plugins: {
      entries: {
        other: { enabled: true, },
+       toolguard: {
+         enabled: true,
+       },
      },
>     load: {
>       paths: ['LINK'],
>     },
    },
  }
""",
    "plugins without entries": """
  {
    "plugins": {
-     "enabled": true
+     "enabled": true,
@     "entries"
    }
  }
""",
    "empty plugins": """
  {
-   "plugins": {}
@   "plugins"
+   }
  }
""",
    "empty entries with a comment": """
  {
    plugins: {
      entries: {
        // none yet
+       toolguard: {
+         enabled: true,
+       }
      },
>     load: {
>       paths: ["LINK"],
>     },
    },
  }
""",
    "other entries": """
  {
    "plugins": {
      "entries": {
        "telegram": { "enabled": true },
-       "slack": { "enabled": false }
+       "slack": { "enabled": false },
+       "toolguard": {
+         "enabled": true
+       }
>     },
>     "load": {
>       "paths": ["LINK"]
      }
    }
  }
""",
    "allow": """
  {
    "plugins": {
-     "allow": ["telegram", "slack"]
+     "allow": ["telegram", "slack", "toolguard"],
@     "entries"
    }
  }
""",
    "allow over several lines": """
  {
    plugins: {
      allow: [
        "telegram", // chat
        "slack",
+       "toolguard",
      ],
      deny: ["other"],
+     entries: {
+       toolguard: {
+         enabled: true,
+       },
+     },
>     load: {
>       paths: ["LINK"],
>     },
    },
  }
""",
    "empty allow": """
- {"plugins": {"allow": []}}
< {"plugins": {"allow": ["toolguard"], "entries": { "toolguard": { "enabled": true } }}}
> {"plugins": {"allow": ["toolguard"], "entries": { "toolguard": { "enabled": true } }, "load": { "paths": ["LINK"] }}}
""",
    "load paths": """
  {
    "plugins": {
-     "load": { "paths": ["~/plugins/a"] }
<     "load": { "paths": ["~/plugins/a"] },
>     "load": { "paths": ["~/plugins/a", "LINK"] },
+     "entries": {
+       "toolguard": {
+         "enabled": true
+       }
+     }
    }
  }
""",
    "empty load": """
  {
    "plugins": {
-     "load": {}
<     "load": {},
>     "load": {
>       "paths": ["LINK"]
>     },
+     "entries": {
+       "toolguard": {
+         "enabled": true
+       }
+     }
    }
  }
""",
    "entry with its own settings": """
  {
    "plugins": {
      "entries": {
        "toolguard": {
          "config": {
            "maxIdenticalFailures": 3 // strict
-         }
+         },
+         "enabled": true
        }
>     },
>     "load": {
>       "paths": ["LINK"]
      }
    }
  }
""",
    "entry switched off": """
  {
    "plugins": {
      "entries": {
-       "toolguard": { "enabled": false, "config": { "mode": "shadow" } } // later
+       "toolguard": { "enabled": true, "config": { "mode": "shadow" } } // later
>     },
>     "load": {
>       "paths": ["LINK"]
      }
    }
  }
""",
    "entry switched on": """
= { plugins: { entries: { toolguard: { enabled: true } } } }
> { plugins: { entries: { toolguard: { enabled: true } }, load: { paths: ["LINK"] } } }
""",
    "include elsewhere": """
  {
    "$include": "base.json5",
    "agents": { "$include": "agents.json5" },
-   "plugins": {}
@   "plugins"
+   }
  }
""",
    "tab in a string": """
- { note: "a\tb" }
< { note: "a\tb", plugins: { entries: { toolguard: { enabled: true } } } }
> { note: "a\tb", plugins: { entries: { toolguard: { enabled: true } }, load: { paths: ["LINK"] } } }
""",
}
CASES = [_case(*each) for each in DIFFERENCES.items()]
