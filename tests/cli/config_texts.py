"""Texts of `openclaw.json` before and after: what `install` makes of them, copied and linked.

`LINK` stands for the folder of the plugin. `uninstall` must give every `before` back, byte for byte.
"""

# ruff: noqa: E501 - a line of a config is a line here

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One config: as it was, with the copied plugin, with the linked one."""

    id: str
    before: str
    copied: str
    linked: str


CASES = [
    Case(
        "empty object",
        "{}\n",
        """\
{
  "plugins": {
    "entries": {
      "toolguard": {
        "enabled": true
      }
    }
  }
}
""",
        """\
{
  "plugins": {
    "entries": {
      "toolguard": {
        "enabled": true
      }
    },
    "load": {
      "paths": ["LINK"]
    }
  }
}
""",
    ),
    Case(
        "no line break at the end",
        "{}",
        """\
{
  "plugins": {
    "entries": {
      "toolguard": {
        "enabled": true
      }
    }
  }
}""",
        """\
{
  "plugins": {
    "entries": {
      "toolguard": {
        "enabled": true
      }
    },
    "load": {
      "paths": ["LINK"]
    }
  }
}""",
    ),
    Case(
        "single line",
        '{"gateway": {"mode": "local"}}\n',
        '{"gateway": {"mode": "local"}, "plugins": { "entries": { "toolguard": { "enabled": true } } }}\n',
        '{"gateway": {"mode": "local"}, "plugins": { "entries": { "toolguard": { "enabled": true } }, "load": { "paths": ["LINK"] } }}\n',
    ),
    Case(
        "single line without blanks",
        '{"gateway":{"mode":"local"}}',
        '{"gateway":{"mode":"local"},"plugins":{"entries":{"toolguard":{"enabled":true}}}}',
        '{"gateway":{"mode":"local"},"plugins":{"entries":{"toolguard":{"enabled":true}},"load":{"paths":["LINK"]}}}',
    ),
    Case(
        "commented",
        """\
// My gateway
{
  // how it listens
  gateway: { mode: "local", port: 18789 }, // keep this port
  /* agents
     come later */
  agents: {
    defaults: { workspace: "~/w" }
  }
  // the end
}
""",
        """\
// My gateway
{
  // how it listens
  gateway: { mode: "local", port: 18789 }, // keep this port
  /* agents
     come later */
  agents: {
    defaults: { workspace: "~/w" }
  },
  plugins: {
    entries: {
      toolguard: {
        enabled: true
      }
    }
  }
  // the end
}
""",
        """\
// My gateway
{
  // how it listens
  gateway: { mode: "local", port: 18789 }, // keep this port
  /* agents
     come later */
  agents: {
    defaults: { workspace: "~/w" }
  },
  plugins: {
    entries: {
      toolguard: {
        enabled: true
      }
    },
    load: {
      paths: ["LINK"]
    }
  }
  // the end
}
""",
    ),
    Case(
        "JSON with four spaces",
        """\
{
    "gateway": {
        "mode": "local"
    },
    "agents": {}
}
""",
        """\
{
    "gateway": {
        "mode": "local"
    },
    "agents": {},
    "plugins": {
        "entries": {
            "toolguard": {
                "enabled": true
            }
        }
    }
}
""",
        """\
{
    "gateway": {
        "mode": "local"
    },
    "agents": {},
    "plugins": {
        "entries": {
            "toolguard": {
                "enabled": true
            }
        },
        "load": {
            "paths": ["LINK"]
        }
    }
}
""",
    ),
    Case(
        "tabs",
        '{\n\t"gateway": {\n\t\t"mode": "local"\n\t}\n}\n',
        (
            "{\n"
            '\t"gateway": {\n'
            '\t\t"mode": "local"\n'
            "\t},\n"
            '\t"plugins": {\n'
            '\t\t"entries": {\n'
            '\t\t\t"toolguard": {\n'
            '\t\t\t\t"enabled": true\n'
            "\t\t\t}\n"
            "\t\t}\n"
            "\t}\n"
            "}\n"
        ),
        (
            "{\n"
            '\t"gateway": {\n'
            '\t\t"mode": "local"\n'
            "\t},\n"
            '\t"plugins": {\n'
            '\t\t"entries": {\n'
            '\t\t\t"toolguard": {\n'
            '\t\t\t\t"enabled": true\n'
            "\t\t\t}\n"
            "\t\t},\n"
            '\t\t"load": {\n'
            '\t\t\t"paths": ["LINK"]\n'
            "\t\t}\n"
            "\t}\n"
            "}\n"
        ),
    ),
    Case(
        "CRLF",
        '{\r\n  "gateway": {\r\n    "mode": "local"\r\n  }\r\n}\r\n',
        (
            "{\r\n"
            '  "gateway": {\r\n'
            '    "mode": "local"\r\n'
            "  },\r\n"
            '  "plugins": {\r\n'
            '    "entries": {\r\n'
            '      "toolguard": {\r\n'
            '        "enabled": true\r\n'
            "      }\r\n"
            "    }\r\n"
            "  }\r\n"
            "}\r\n"
        ),
        (
            "{\r\n"
            '  "gateway": {\r\n'
            '    "mode": "local"\r\n'
            "  },\r\n"
            '  "plugins": {\r\n'
            '    "entries": {\r\n'
            '      "toolguard": {\r\n'
            '        "enabled": true\r\n'
            "      }\r\n"
            "    },\r\n"
            '    "load": {\r\n'
            '      "paths": ["LINK"]\r\n'
            "    }\r\n"
            "  }\r\n"
            "}\r\n"
        ),
    ),
    Case(
        "byte order mark",
        '\ufeff{\n  "gateway": {"mode": "local"}\n}\n',
        (
            "\ufeff{\n"
            '  "gateway": {"mode": "local"},\n'
            '  "plugins": {\n'
            '    "entries": {\n'
            '      "toolguard": {\n'
            '        "enabled": true\n'
            "      }\n"
            "    }\n"
            "  }\n"
            "}\n"
        ),
        (
            "\ufeff{\n"
            '  "gateway": {"mode": "local"},\n'
            '  "plugins": {\n'
            '    "entries": {\n'
            '      "toolguard": {\n'
            '        "enabled": true\n'
            "      }\n"
            "    },\n"
            '    "load": {\n'
            '      "paths": ["LINK"]\n'
            "    }\n"
            "  }\n"
            "}\n"
        ),
    ),
    Case(
        "trailing commas",
        """\
{
  gateway: {
    mode: 'local',
  },
  plugins: {
    entries: {
      other: { enabled: true, },
    },
  },
}
""",
        """\
{
  gateway: {
    mode: 'local',
  },
  plugins: {
    entries: {
      other: { enabled: true, },
      toolguard: {
        enabled: true,
      },
    },
  },
}
""",
        """\
{
  gateway: {
    mode: 'local',
  },
  plugins: {
    entries: {
      other: { enabled: true, },
      toolguard: {
        enabled: true,
      },
    },
    load: {
      paths: ['LINK'],
    },
  },
}
""",
    ),
    Case(
        "plugins without entries",
        """\
{
  "plugins": {
    "enabled": true
  }
}
""",
        """\
{
  "plugins": {
    "enabled": true,
    "entries": {
      "toolguard": {
        "enabled": true
      }
    }
  }
}
""",
        """\
{
  "plugins": {
    "enabled": true,
    "entries": {
      "toolguard": {
        "enabled": true
      }
    },
    "load": {
      "paths": ["LINK"]
    }
  }
}
""",
    ),
    Case(
        "empty plugins",
        """\
{
  "plugins": {}
}
""",
        """\
{
  "plugins": {
    "entries": {
      "toolguard": {
        "enabled": true
      }
    }
  }
}
""",
        """\
{
  "plugins": {
    "entries": {
      "toolguard": {
        "enabled": true
      }
    },
    "load": {
      "paths": ["LINK"]
    }
  }
}
""",
    ),
    Case(
        "empty entries with a comment",
        """\
{
  plugins: {
    entries: {
      // none yet
    },
  },
}
""",
        """\
{
  plugins: {
    entries: {
      // none yet
      toolguard: {
        enabled: true,
      }
    },
  },
}
""",
        """\
{
  plugins: {
    entries: {
      // none yet
      toolguard: {
        enabled: true,
      }
    },
    load: {
      paths: ["LINK"],
    },
  },
}
""",
    ),
    Case(
        "other entries",
        """\
{
  "plugins": {
    "entries": {
      "telegram": { "enabled": true },
      "slack": { "enabled": false }
    }
  }
}
""",
        """\
{
  "plugins": {
    "entries": {
      "telegram": { "enabled": true },
      "slack": { "enabled": false },
      "toolguard": {
        "enabled": true
      }
    }
  }
}
""",
        """\
{
  "plugins": {
    "entries": {
      "telegram": { "enabled": true },
      "slack": { "enabled": false },
      "toolguard": {
        "enabled": true
      }
    },
    "load": {
      "paths": ["LINK"]
    }
  }
}
""",
    ),
    Case(
        "allow",
        """\
{
  "plugins": {
    "allow": ["telegram", "slack"]
  }
}
""",
        """\
{
  "plugins": {
    "allow": ["telegram", "slack", "toolguard"],
    "entries": {
      "toolguard": {
        "enabled": true
      }
    }
  }
}
""",
        """\
{
  "plugins": {
    "allow": ["telegram", "slack", "toolguard"],
    "entries": {
      "toolguard": {
        "enabled": true
      }
    },
    "load": {
      "paths": ["LINK"]
    }
  }
}
""",
    ),
    Case(
        "allow over several lines",
        """\
{
  plugins: {
    allow: [
      "telegram", // chat
      "slack",
    ],
    deny: ["other"],
  },
}
""",
        """\
{
  plugins: {
    allow: [
      "telegram", // chat
      "slack",
      "toolguard",
    ],
    deny: ["other"],
    entries: {
      toolguard: {
        enabled: true,
      },
    },
  },
}
""",
        """\
{
  plugins: {
    allow: [
      "telegram", // chat
      "slack",
      "toolguard",
    ],
    deny: ["other"],
    entries: {
      toolguard: {
        enabled: true,
      },
    },
    load: {
      paths: ["LINK"],
    },
  },
}
""",
    ),
    Case(
        "empty allow",
        '{"plugins": {"allow": []}}\n',
        '{"plugins": {"allow": ["toolguard"], "entries": { "toolguard": { "enabled": true } }}}\n',
        '{"plugins": {"allow": ["toolguard"], "entries": { "toolguard": { "enabled": true } }, "load": { "paths": ["LINK"] }}}\n',
    ),
    Case(
        "load paths",
        """\
{
  "plugins": {
    "load": { "paths": ["~/plugins/a"] }
  }
}
""",
        """\
{
  "plugins": {
    "load": { "paths": ["~/plugins/a"] },
    "entries": {
      "toolguard": {
        "enabled": true
      }
    }
  }
}
""",
        """\
{
  "plugins": {
    "load": { "paths": ["~/plugins/a", "LINK"] },
    "entries": {
      "toolguard": {
        "enabled": true
      }
    }
  }
}
""",
    ),
    Case(
        "empty load",
        """\
{
  "plugins": {
    "load": {}
  }
}
""",
        """\
{
  "plugins": {
    "load": {},
    "entries": {
      "toolguard": {
        "enabled": true
      }
    }
  }
}
""",
        """\
{
  "plugins": {
    "load": {
      "paths": ["LINK"]
    },
    "entries": {
      "toolguard": {
        "enabled": true
      }
    }
  }
}
""",
    ),
    Case(
        "entry with its own settings",
        """\
{
  "plugins": {
    "entries": {
      "toolguard": {
        "config": {
          "maxIdenticalFailures": 3 // strict
        }
      }
    }
  }
}
""",
        """\
{
  "plugins": {
    "entries": {
      "toolguard": {
        "config": {
          "maxIdenticalFailures": 3 // strict
        },
        "enabled": true
      }
    }
  }
}
""",
        """\
{
  "plugins": {
    "entries": {
      "toolguard": {
        "config": {
          "maxIdenticalFailures": 3 // strict
        },
        "enabled": true
      }
    },
    "load": {
      "paths": ["LINK"]
    }
  }
}
""",
    ),
    Case(
        "entry switched off",
        """\
{
  "plugins": {
    "entries": {
      "toolguard": { "enabled": false, "config": { "mode": "shadow" } } // later
    }
  }
}
""",
        """\
{
  "plugins": {
    "entries": {
      "toolguard": { "enabled": true, "config": { "mode": "shadow" } } // later
    }
  }
}
""",
        """\
{
  "plugins": {
    "entries": {
      "toolguard": { "enabled": true, "config": { "mode": "shadow" } } // later
    },
    "load": {
      "paths": ["LINK"]
    }
  }
}
""",
    ),
    Case(
        "entry switched on",
        "{ plugins: { entries: { toolguard: { enabled: true } } } }\n",
        "{ plugins: { entries: { toolguard: { enabled: true } } } }\n",
        '{ plugins: { entries: { toolguard: { enabled: true } }, load: { paths: ["LINK"] } } }\n',
    ),
    Case(
        "include elsewhere",
        """\
{
  "$include": "base.json5",
  "agents": { "$include": "agents.json5" },
  "plugins": {}
}
""",
        """\
{
  "$include": "base.json5",
  "agents": { "$include": "agents.json5" },
  "plugins": {
    "entries": {
      "toolguard": {
        "enabled": true
      }
    }
  }
}
""",
        """\
{
  "$include": "base.json5",
  "agents": { "$include": "agents.json5" },
  "plugins": {
    "entries": {
      "toolguard": {
        "enabled": true
      }
    },
    "load": {
      "paths": ["LINK"]
    }
  }
}
""",
    ),
    Case(
        "tab in a string",
        '{ note: "a\tb" }\n',
        '{ note: "a\tb", plugins: { entries: { toolguard: { enabled: true } } } }\n',
        '{ note: "a\tb", plugins: { entries: { toolguard: { enabled: true } }, load: { paths: ["LINK"] } } }\n',
    ),
]
