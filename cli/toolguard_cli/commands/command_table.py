"""The commands, in the order of `toolguard --help`. A new command needs a module with an `app`, and a line here."""

from __future__ import annotations

from toolguard_cli.terminal.lazy_group import LazyCommand, LazyGroup


def _listed(module: str, summary: str, new_name: str = "") -> LazyCommand:
    return LazyCommand(f"toolguard_cli.commands.{module}", summary, new_name)


class RootGroup(LazyGroup):
    sections = {  # noqa: RUF012 - as `table`
        "Held calls": ("pending", "approve", "deny", "revive", "watch", "grant", "grants", "revoke", "tools", "undo"),
        "What the guard does": (
            "status",
            "check",
            "rules",
            "replay",
            "tune",
            "audit",
            "timeline",
            "usage",
            "dashboard",
            "demo",
        ),
        "Control": ("kill-switch", "checkpoint", "limits", "notify", "config", "containment", "fleet"),
        "Installation": ("install", "doctor", "migrate", "state", "uninstall"),
    }
    meant = {  # noqa: RUF012 - as `table`
        word: name
        for name, words in {
            "check": "explain why judge simulate",
            "approve": "allow accept confirm",
            "deny": "reject refuse decline",
            "pending": "list queue held",
            "audit": "log logs history",
            "kill-switch": "stop pause panic",
            "tools": "mcp servers plugins",
            "undo": "restore recover rollback",
            "timeline": "night happened activity",
            "usage": "cost costs",
            "config": "set get settings",
            "limits": "limit caps",
            "install": "update upgrade setup",
            "uninstall": "remove",
            "state": "backup export import",
        }.items()
        for word in words.split()
    }
    table = {  # noqa: RUF012 - a ClassVar, declared in the base class
        "install": _listed("install", "Install the plugin into the gateway and enable it."),
        "uninstall": _listed("uninstall", "Remove the plugin from the gateway."),
        "migrate": _listed("migrate", "Migrate from the plugins that toolguard replaces."),
        "state": _listed("state_commands", "Back up toolguard's state, or move it to another machine."),
        "status": _listed("show_status", "Show whether the guard is running and what it has done."),
        "doctor": _listed("run_doctor", "Check that the guard works."),
        "approve": _listed("approve", "Let a held call run once."),
        "deny": _listed("deny", "Deny a held call, or withdraw an unused approval."),
        "pending": _listed("pending", "List the calls waiting for approval."),
        "revive": _listed("revive", "Ask an agent to retry a call that expired unanswered or whose approval lapsed."),
        "watch": _listed("watch", "Watch held calls; approve or deny them with a keypress."),
        "limits": _listed("show_limits", "Show and set limits on cost and tokens."),
        "timeline": _listed("timeline", "Show what agents did, by session and run."),
        "usage": _listed("usage", "Show model calls, their tokens and their cost."),
        "dashboard": _listed("show_dashboard", "Open the dashboard of agent activity, cost and held calls."),
        "notify": _listed("notify_commands", "Test the notification targets, and show what was delivered."),
        "grant": _listed("grant", "Allow one kind of call for a while, without asking."),
        "grants": _listed("grants", "List the grants."),
        "revoke": _listed("revoke", "Revoke a grant."),
        "tools": _listed("known_tools", "List and decide who may use which tools of servers and plugins."),
        "undo": _listed("undo", "List what calls changed or removed, or bring it back."),
        "kill-switch": _listed("kill_switch", "Block every tool call by every agent, or allow calls again."),
        "checkpoint": _listed("checkpoint", "Refill the agents' risk budgets after a review."),
        "check": _listed("check", "Show what the guard would decide about a call, and why."),
        "replay": _listed("replay", "Show what would have been held in past sessions."),
        "tune": _listed("tune", "Find calls you always approve, and ways to avoid the prompts."),
        "demo": _listed("demo", "Watch the guard end a loop on a real gateway, or hold a call for your answer."),
        "rules": _listed("own_rules", "List, add and test your own rules."),
        "constraints": _listed("own_rules", "Deprecated alias for rules; will be removed in the next release.", "rules"),
        "audit": _listed("audit", "Read, verify and export the audit log."),
        "config": _listed("config_commands", "Read, check and change the gateway's config."),
        "containment": _listed("containment_commands", "Show, try and set up what the kernel keeps from commands."),
        "fleet": _listed("fleet_commands", "Set up and manage a fleet of gateways that share one database."),
        "help": _listed("show_help", "Show the help for a command."),
        "version": _listed("show_version", "Show the versions of toolguard and Python."),
    }


class ConfigGroup(LazyGroup):
    table = {  # noqa: RUF012 - as above
        "validate": _listed("config_validate", "Find everything that is wrong with the config."),
        "get": _listed("config_get", "Print one value as JSON, as the gateway sees it."),
        "set": _listed("config_set", "Change one value, or several."),
        "unset": _listed("config_unset", "Remove a value, so that its default applies."),
        "accept": _listed("config_accept", "Accept settings that have become weaker."),
        "show": _listed("config_show", "List toolguard's settings, their values and where they come from."),
        "schema": _listed("config_schema", "Print the JSON schema of toolguard's settings."),
    }


class StateGroup(LazyGroup):
    table = {  # noqa: RUF012 - as above
        "export": _listed("state_export", "Write the state into one file."),
        "import": _listed("state_import", "Bring back the state from a file of state export."),
    }


class ContainmentGroup(LazyGroup):
    table = {  # noqa: RUF012 - as above
        "status": _listed("containment_status", "Show whether commands are contained, and by which profile."),
        "probe": _listed("containment_probe", "Try from inside whether commands are kept from what they should not reach."),
        "setup": _listed("containment_setup", "Print what to do where commands cannot be contained."),
        "exec": _listed("containment_exec", "Run a command as an agent's command would run."),
    }


class FleetGroup(LazyGroup):
    table = {  # noqa: RUF012 - as above
        "init": _listed("fleet_init", "Create the fleet's schema and roles in a database."),
        "migrate": _listed("fleet_migrate", "Bring the fleet's schema up to date."),
        "join": _listed("fleet_join", "Register this gateway with the fleet."),
        "leave": _listed("fleet_leave", "Take this gateway out of the fleet."),
        "pending": _listed("fleet_pending", "List the calls waiting on all gateways of your teams."),
        "approve": _listed("fleet_approve", "Let a held call on any gateway run once."),
        "deny": _listed("fleet_deny", "Deny a held call on any gateway, or withdraw an unused approval."),
        "revive": _listed("fleet_revive", "Ask an agent to retry a call that expired unanswered."),
        "gateways": _listed("fleet_gateways", "List the gateways of the fleet."),
        "admit": _listed("fleet_admit", "Admit a gateway that has joined."),
        "revoke": _listed("fleet_revoke", "Revoke a gateway permanently."),
        "approvers": _listed("fleet_approvers", "Manage the people who may approve, view or administer."),
        "events": _listed("fleet_events", "Show what was done to the fleet, and what the database noticed."),
        "audit": _listed("fleet_audit", "Read and verify the audit logs of the gateways."),
        "policy": _listed("fleet_policy", "Check, push, compare and show the signed policy of a team."),
        "kill-switch": _listed("fleet_kill_switch", "Block all tool calls on a team's gateways, or allow calls again."),
        "dashboard": _listed("fleet_dashboard", "Serve the dashboard of the fleet."),
        "tokens": _listed("fleet_tokens", "List, add and revoke the tokens for logging in to the fleet dashboard."),
        "demo": _listed("fleet_demo", "Try a fleet of three gateways on this machine."),
        "maintain": _listed("fleet_maintain", "Create and drop partitions; expire old calls."),
    }
