"""Every verb of the command line of OpenClaw 2026.9.6, by what has to become of it without any argument.

One line is `above: names`; the first one has the verbs that stand alone.
"""

from __future__ import annotations

from collections.abc import Iterator

BLOCKED = """
-: onboard reset setup uninstall
approvals: resolve
daemon: stop uninstall
exec-approvals: resolve
gateway: stop uninstall
"""
"""They take the guard away, or answer for a person."""

HELD = """
-: acp attach chat config configure connect crestodian dashboard gateway migrate qr resume terminal triage tui update worker
acp: client
agent: exec
agents: add bind delete unbind
agents team: create
approvals: set
approvals allowlist: add remove
approvals grants: revoke
backup: create disable enable restore
backup git: create init restore
backup sqlite: create restore
browser: batch cookie-sync cookies delete-profile evaluate import-profile reset-profile upload
browser cookies: clear set
browser extension: cdp install pair repair setup uninstall-host uninstall-store
browser storage local: clear get set
browser storage session: clear get set
capability model auth: login logout
channels: add login logout remove
clawbot: qr
config: patch set unset
daemon: install start
database ownership: claim
devices: approve clear join-code remove revoke rotate
dns: setup
exec-approvals: set
exec-approvals allowlist: add remove
exec-approvals grants: revoke
exec-policy: preset set
file-transfer approvals: migrate
fleet: backup create restart restore rm start stop upgrade
gateway: auth-token call install run start suspend
gateway restart-handoff: consume
hooks: disable enable install relay update
infer model auth: login logout
mcp: add configure login logout serve set unset
memory: forget reset
message: ban broadcast delete edit kick poll send timeout
message emoji: upload
message event: create
message role: add remove
message sticker: send upload
message thread: create reply
migrate: apply
models: auth
models accounts: clear-default login use
models auth: activate add login login-github-copilot logout paste-api-key paste-token setup-token
models auth order: clear set
node: install restart run start stop uninstall worker
nodes: approve invoke remove
nodes camera: clip snap
nodes canvas: navigate
nodes location: get
nodes screen: record
pairing: approve
plugins: disable enable install reload uninstall update
promos: claim
proxy: blob purge query run start
sandbox: recreate
secrets: apply configure
secrets store: get import rm set
sessions: delete
skills: install update
skills library: enable import share transfer unshare
skills workshop: apply
update: cleanup finalize repair wizard
users: link-email
webhooks gmail: run setup
"""
"""They run programs, let somebody in, give out secrets, change settings that matter, or delete what the gateway keeps."""

PASSING = """
-: agent agents approvals audit automations backup browser capability channels clawbot completion cron daemon database
  devices directory dns docs doctor exec-approvals exec-policy file-transfer fleet health hooks infer logs mcp memory
  message models node nodes pairing plugins promos proxy sandbox secrets security sessions skills status system tasks
  telemetry transcripts users webhooks worktrees
agents: bindings list set-identity team
approvals: allowlist get grants pending
approvals grants: list
automations: add create delete disable edit enable get list remove rm run runs scratch show status
backup: git sqlite verify
backup git: log verify
backup sqlite: list verify
browser: click click-coords close console create-profile dialog doctor download drag errors extension fill focus
  highlight hover navigate open pdf press profiles requests resize responsebody screenshot scrollintoview select set
  snapshot start status stop storage system-profiles tab tabs trace type wait waitfordownload
browser extension: path status
browser set: credentials device geo headers locale media offline timezone viewport
browser storage: local session
browser tab: close label new select
browser trace: start stop
capability: audio embedding image inspect list model tts video web
capability audio: providers transcribe
capability embedding: create providers
capability image: describe describe-many edit generate providers
capability model: auth inspect list providers run
capability model auth: status
capability tts: convert disable enable personas providers set-persona set-provider status voices
capability video: describe generate providers
capability web: fetch providers search
channels: capabilities dead-letters list logs resolve status
channels dead-letters: list resubmit
config: file get schema validate
cron: add create delete disable edit enable get list remove rm run runs scratch show status
daemon: restart status
database: ownership preflight preflight-agent
database ownership: status
devices: list reject rename
directory: groups peers self
directory groups: list members
directory peers: list
exec-approvals: allowlist get grants pending
exec-approvals grants: list
exec-policy: show
file-transfer: approvals
fleet: doctor list logs ls status
gateway: diagnostics discover health probe restart resume stability status usage-cost
gateway diagnostics: export
gateway restart-handoff: capabilities
hooks: check info list
infer: audio embedding image inspect list model tts video web
infer audio: providers transcribe
infer embedding: create providers
infer image: describe describe-many edit generate providers
infer model: auth inspect list providers run
infer model auth: status
infer tts: convert disable enable personas providers set-persona set-provider status voices
infer video: describe generate providers
infer web: fetch providers search
mcp: doctor list probe reload show status tools
memory: index promote promote-explain rem-backfill rem-harness search session-backfill status
message: channel emoji event member permissions pin pins react reactions read role search sticker thread unpin voice
message channel: info list
message emoji: list
message event: list
message member: info
message role: info
message thread: list
message voice: status
migrate: list plan
models: accounts aliases fallbacks image-fallbacks list refresh scan set set-image status
models accounts: list
models aliases: add list remove
models auth: list order
models auth order: get
models fallbacks: add clear list remove
models image-fallbacks: add clear list remove
node: identity status
nodes: camera canvas describe list location notify pending push reject rename screen status
nodes camera: list
nodes canvas: hide present
onboard: recommendations
onboard recommendations: acknowledge refresh
pairing: list
plugins: build doctor info init inspect list marketplace pack registry search validate
plugins marketplace: entries list refresh
promos: list
proxy: coverage sessions validate
sandbox: explain list
secrets: audit reload store
secrets store: list
security: audit
sessions: archive cleanup compact export-trajectory list tail
skills: check curator info library list search verify workshop
skills curator: pin restore status unpin
skills library: attach create detach disable list read refresh remove rollback update
skills workshop: evaluate inspect list propose-create propose-update quarantine reject revise
system: event heartbeat presence
system heartbeat: disable enable last
tasks: audit cancel dismiss flow list maintenance notify retry show
tasks flow: cancel list show
telemetry: off on show
transcripts: list path show
update: migration-plan status
users: list
webhooks: gmail
worktrees: create gc list remove restore
"""
"""They show something, group other verbs, or are ordinary work with the gateway."""


def verbs(table: str) -> Iterator[str]:
    """The verbs of one of the tables."""
    for line in table.replace("\n  ", " ").strip().splitlines():
        above, _, names = line.partition(": ")
        for name in names.split():
            yield name if above == "-" else f"{above} {name}"
