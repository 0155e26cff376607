"""Which commands of an administrator are routine: they only show something, install or update packages of the distribution
by name, or restart a service.

The words behind the program must match its pattern from end to end, so an option that is not listed is not routine.
"""

from __future__ import annotations

from typing import Literal

from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.model.kept_patterns import compiled

Routine = Literal["", "reads", "installs", "restarts"]

_NAME = r"[a-z0-9][a-z0-9+._-]{0,80}(?<!-)(?::[a-z0-9]{1,10})?(?:=[\w.:~+*-]{1,60})?"
"""A package by name: no path, no address, no option; one that ends in `-` would be removed."""
_NAMES = rf"(?: {_NAME}){{1,60}}"
_SHORT = r"(?: -[abd-np-zABE-Z0-9]{1,8})*"
"""Without `-c FILE` and `-o SETTING`, which may name programs."""
_QUIET = (
    r"(?: (?:-y|-q|-qq|-yq|-qy|-yqq|-qqy|-f|-u|--yes|--assume-yes|--quiet|--no-install-recommends|--fix-missing|--upgrade"
    r"|--no-upgrade|--noconfirm|--needed|--refresh|--no-cache|--non-interactive|--best|--no-progress))*"
)
_REHEARSED = r"(?:-[qyuV]{0,4}s[qyuV]{0,4}|--simulate|--just-print|--dry-run|--recon|--no-act)"
_OR_REHEARSED = rf"(?: (?:{_REHEARSED}|-y|-q|-qq|-V|-u|--yes|--quiet|--no-install-recommends))*"
_REHEARSAL = (
    rf"(?=(?: \S+)* {_REHEARSED}(?: |\Z)){_OR_REHEARSED}"
    rf" (?:(?:dist-|full-|safe-)?upgrade|autoremove|(?:install|remove|purge){_OR_REHEARSED}{_NAMES}){_OR_REHEARSED}"
)
_WORD = r"(?!-[co]|--(?:opt|conf|set|plug|installr|root|host|mach))[\w@.:=%+,*-]{1,120}"
_WORDS = rf"(?: {_WORD})*"
_PRIVATE = r"(?:10(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2})(?:/\d{1,2})?"
_LOG_OR_SETTING = r"(?: (?!/proc/(?:k|\S*/(?:root|cwd|fd|mem|environ|exe|task|map_files)(?:/|\s|\Z)))/(?:var/log|proc|sys)/[\w./@:*-]{1,200})+"  # noqa: E501

_ETC = r"/etc/[\w./@-]{1,120}"
"""A file of settings that only an administrator can change: others may name modules that a check loads."""

_BLANK = "\x1f"
"""A blank inside a word. Only a pattern for any text, such as that of `grep`, matches it."""

_READS = {
    "apt|apt-get|apt-cache": (
        rf"{_SHORT} (?:list|show|search|policy|showpkg|depends|rdepends|madison|check|changelog){_WORDS}"
        rf"|{_REHEARSAL}"
    ),
    "aptitude": _REHEARSAL,
    "dpkg": r"(?: (?:-l|-L|-s|-S|--list|--status|--listfiles|--get-selections|--audit))(?: [\w./+*-]{1,120})*",
    "dnf|yum|zypper": (
        rf"{_SHORT} (?:list|info|search|repolist|provides|history|check-update|se|if|lr|lu|repoquery|deplist){_WORDS}"
    ),
    "rpm": r" -q[a-z]{0,6}(?: (?:[\w./+*][\w./+*-]{0,119}|-[a-ce-z]{1,4}|--(?:last|changelog|scripts|requires|provides)))*",
    "pacman": r" -Q[a-z]{0,6}(?: [\w.+-]{1,120})*",
    "snap|flatpak": rf" (?:list|info|find|search|version|services|connections|changes|refresh --list){_WORDS}",
    "systemctl": (
        rf"(?: --(?:user|no-pager|all|failed|type=\w+|state=\w+|full|system|lines=\d+|no-legend)|"
        rf" -[nalt]\d{{0,4}})* (?:status|show|cat|is-\w+|list-[\w-]+|get-default|help){_WORDS}"
    ),
    "service": r" (?:[\w.@-]{1,60} status|--status-all)",
    "journalctl": (
        r"(?: (?!--(?:vacuum|rotate|flush|sync|relinquish|smart|setup|update|interval|cursor-file)|-D|--directory|"
        rf"--file|--root|--image)[\w./@:=+,*-]{{1,120}}| [0-9-]{{8,10}}(?:{_BLANK}\d\d:\d\d(?::\d\d)?)?"
        rf"| (?:\d{{1,4}}{_BLANK})?[a-z]{{1,9}}{_BLANK}ago)*"
    ),
    "dmesg": (
        r"(?: (?:-[THWkuwxlfJePrS]{1,6}|--(?:human|follow|level=[\w,]+|ctime|color=\w+|since|decode)|\w[\w,:-]{0,39}))*"
    ),
    (
        "df|du|free|uptime|uname|lsblk|lscpu|lsusb|lspci|lsmod|lshw|dmidecode|last|lastb|w|who|ps|"
        "pstree|vmstat|iostat|lsns|findmnt|nproc|stat|ss|netstat|lsof|sensors|pvs|vgs|lvs|pvdisplay|"
        "vgdisplay|lvdisplay|getcap|modinfo"
    ): (
        r"(?: (?!-\w*[KD]|--(?:kill|diag|dump|config|profile|cache|garbage|write)|-dump|-c\Z|-c )[\w./@:=%+,*~-]{1,200})*"
    ),
    "powermetrics|purge|dscacheutil|mdutil": r"(?: -[a-z]{1,12}| \d{1,4})*",
    "hostname": r"(?: -[AIadfis])*",
    "blkid": r"(?: -(?:o|s) \w+| /dev/\w+)*",
    "ufw": r" (?:status(?: verbose| numbered)?|version|app list|show \w+)",
    "fdisk|sfdisk|parted|gdisk": r" -l(?: [\w/.-]{1,60})*",
    "iptables|ip6tables": (
        r"(?: -t (?:nat|filter|mangle|raw))? (?:-L|-S|--list|--list-rules)(?: [A-Z]{2,20})?(?: -[nvx]{1,3}| --line-numbers)*"
    ),
    "nft": r" list [\w -]{1,80}",
    "mdadm": r" (?:--detail|-D|--examine|-E|--query|-Q)(?: --(?:scan|brief|verbose))*(?: /dev/[\w/]{1,40})*",
    "wg": r" show(?: [\w-]{1,20}){0,2}",
    "smartctl": r"(?: -(?:a|i|H|x|A|l \w+|d [\w,]+))+(?: [\w/.*?\[\]-]{1,60})",
    "ls": r"(?: -[a-zA-Z1]{1,12}| --[a-z-]{1,30}(?:=[\w+-]{1,30})?| /[\w./@:+*-]{0,200})* /[\w./@:+*-]{0,200}",
    "find": r"(?: (?!-(?:exec|ok|delete|fprint|fls|files0))[^ \0]{1,200})+",
    "nmap": rf"(?: -(?:sn|sP|sL|n|T[0-4]|v))*(?: {_PRIVATE})+",
    "lynis": r" audit system(?: (?:--quick|-Q|--quiet|-q|--no-colors|--cronjob))*",
    "hdparm": r" -[iI] [\w/.-]{1,60}",
    "nmcli|ip|iw|ethtool|resolvectl|timedatectl|hostnamectl|localectl|loginctl|networkctl": (
        r"(?!(?: \S+)* (?!-)\S+ (?:[acdlr]|con)(?: |\Z))(?: (?:device|dev|d|connection|con|c|general|g|addr|address|a|route|r|link|l|neigh|status|show|list|ls|wifi|"  # noqa: E501
        r"statistics|query|session-status|list-sessions|list-users|-br|-brief|-4|-6|-s|-c|eth\d|wlan\d|enp\w+|wlp\w+|"
        r"scan|rescan))*"
    ),
    "docker|podman": (
        rf" (?:ps|images|logs|inspect|stats|top|port|version|info|network ls|volume ls|container ls|compose ps|"
        rf"compose logs|system df){_WORDS}"
    ),
    "cat|head|tail|zcat|wc": rf"(?: -[a-zA-Z0-9]{{1,8}}(?: \d{{1,9}})?| --follow| --lines=\d+)*{_LOG_OR_SETTING}",
    "grep|zgrep|egrep": rf"(?: -[a-dg-zA-Z0-9]{{1,8}})* (?!-)[^ \0]{{1,200}}{_LOG_OR_SETTING}",
    "awk|gawk|mawk": (
        r"(?: -F ?[^\s\0]{1,4}){0,2} (?!-)(?![^\0]*(?:system|getline|close|ARG|printf? *[(-]|[|>`@\"]| -))[^ \0]{1,300}"
        rf"{_LOG_OR_SETTING}"
    ),
    "nvme": (
        r" (?:list|list-subsys|list-ns|smart-log|error-log|fw-log|id-ctrl|id-ns|version)"
        r"(?: -[Hvb]| -n \d{1,4}| (?:-o |--output-format=)\w{1,8}| /dev/nvme\w{1,12})*"
    ),
    "nginx|apache2ctl|apachectl|httpd|apache2|sshd|visudo|postfix": (
        rf" (?:-q )?(?:-t|-T|-v|-V|-c|-S|configtest|check|status)(?: -[cf] {_ETC})?"
    ),
    "named-checkconf": rf"(?: -[chjlpvxz])*(?: {_ETC})?",
    "haproxy": rf"(?: -c| -V| -q| -f {_ETC})* -c(?: -V| -q| -f {_ETC})*| -vv?",
    "caddy": rf" (?:version|list-modules|validate --config {_ETC}(?: --adapter \w{{1,20}})?)",
    "traefik": r" (?:version|healthcheck)",
    "named-checkzone": rf" [\w.-]{{1,80}} {_ETC}",
    "unbound-checkconf": rf"(?: {_ETC})?",
    "promtool": rf" check config {_ETC}",
    "squid": rf" -k parse(?: -f {_ETC})?",
    "postconf|doveconf|dovecot": r" -[nd]",
    "testparm": r" -s",
    "smbstatus|exportfs": r"(?: -[sv])?",
    "chronyc": r" (?:tracking|sources|sourcestats)(?: -v)?",
    "ntpq": r" -p",
    "rsyslogd": r" -N1",
    "logrotate": rf" -d {_ETC}",
    "php-fpm|php-fpm7.4|php-fpm8.1|php-fpm8.2|php-fpm8.3|php-fpm8.4": r" -(?:t|tt|v)",
    "unattended-upgrade|unattended-upgrades": r"(?: -(?:d|v))* --dry-run(?: -(?:d|v)| --debug)*",
    "fwupdmgr": r" (?:refresh|get-[a-z]{4,12})",
    "certbot": r" (?:certificates|--version)",
    "zpool|zfs": r" (?:status|list|history|iostat|get|version)(?: [\w./@:=,-]{1,80})*",
    "btrfs": (
        r" (?:filesystem|fi|subvolume|scrub|device|balance|quota|qgroup) (?:df|usage|show|list|status|stats|get-default)"
        r"(?: [\w./@:-]{1,80})*"
    ),
    "qm|pct": r" (?:list|status(?: \d{1,9})?)",
    "pvesh": (
        r" (?:get|ls) /(?:nodes|cluster)(?:/[\w-]{1,40}){0,2}(?:/(?:status|resources|qemu|lxc|storage))?"
        r"(?: --output-format \w{1,12})?"
    ),
    "pveversion|pvecm|pvesm": r"(?: (?:-v|status|nodes))?",
    "fail2ban-client": r" status(?: [\w-]{1,40})?",
}  # fmt: skip
_INSTALLS = {
    "apt|apt-get|aptitude": rf"{_QUIET} (?:update|upgrade|auto(?:remove|clean)|clean|install{_QUIET}{_NAMES}){_QUIET}",
    "dnf|yum|microdnf": (
        rf"{_QUIET} (?:makecache|autoremove|clean all|(?:upgrade|update)(?:{_QUIET}{_NAMES})?|install{_QUIET}{_NAMES})"
        rf"{_QUIET}"
    ),
    "zypper": rf"{_QUIET} (?:refresh|ref|update|up|(?:install|in){_QUIET}{_NAMES}){_QUIET}",
    "pacman": rf" -S(?:y|yu|yyu|u)?(?:{_QUIET}{_NAMES})?{_QUIET}",
    "apk": rf"{_QUIET} (?:update|upgrade|add{_QUIET}{_NAMES})",
    "snap": rf" (?:refresh|(?:install|refresh){_NAMES})",
    "flatpak": rf" (?:update|install{_QUIET} flathub(?: [\w.]{{1,100}}){{1,9}}){_QUIET}",
}  # fmt: skip
_UNIT = r"(?!\S*\.(?:target|slice|scope|mount|automount|swap|socket)(?: |\Z)|user@|getty)[a-zA-Z][\w.@-]{0,80}"
"""Without what would restart or end much more than a service: `reboot.target`, `user@1000`."""
_RESTARTS = {
    "systemctl": rf"(?: --(?:user|no-block))* (?:daemon-reload|(?:restart|reload|try-restart)(?: {_UNIT}){{1,5}})",
    "service": rf" {_UNIT} (?:restart|reload)",
    "journalctl": (
        r" --vacuum-(?:time=(?:(?:[3-9]|[1-9]\d{1,2})(?:d|days)|[1-9]\d?(?:w|weeks|months?))|size=[1-9]\d{0,3}[MG])"
    ),
    "timedatectl": r" set-timezone [A-Za-z]{1,40}(?:/[\w+-]{1,40}){0,2}",
    "mount": (
        r"(?: -t (?:auto|vfat|exfat|ntfs3?|ext[234])| -o (?:ro|rw|uid=\d+|gid=\d+|umask=\d+|,)+)* "
        r"/dev/(?:sd[b-z]\d|mmcblk\d+p\d+|sr\d|disk/by-\w+/[\w-]{1,60}) /(?:mnt|media)(?:/[\w-]{1,60}){0,3}"
    ),
    "certbot": r" renew(?: --(?:dry-run|quiet|no-self-upgrade))*",
    "btrfs": (
        r" scrub (?:start|resume|cancel)(?: -[Bdrq])*(?: [\w./-]{1,80})"
        rf"| subvolume snapshot(?: -r)?(?: /[\w./-]{{1,80}}) /[\w./@:{UNKNOWN}-]{{1,120}}"
    ),
    "smartctl": r" -t (?:short|long|conveyance) /dev/[\w/]{1,40}",
    "zfs": rf" snapshot(?: -r)?(?: [\w./-]{{1,80}}@[\w.:{UNKNOWN}-]{{1,60}}){{1,5}}",
    "zpool": r" scrub(?: -[psw])*(?: [\w-]{1,60})",
    "tailscale": r" up(?: --accept-(?:routes|dns))*",
    "docker|podman": (
        rf" (?:(?:restart|start|stop|pull)(?: [\w./:-]{{1,120}}){{1,5}}|compose(?: -f [\w./-]{{1,120}}| -p [\w-]{{1,60}})*"
        rf" (?:pull|up -d|restart|start|stop)(?: [\w-]{{1,60}}){{0,5}}"
        rf"|exec(?: -[it]{{1,2}}| -u [\w-]{{1,32}}| -w [\w./-]{{1,80}})* [a-z][\w.-]{{0,60}}{_WORDS})"
    ),
    "umount": r" /(?:mnt|media)(?:/[\w-]{1,60}){1,3}",
}


def _by_name(table: dict[str, str]) -> dict[str, str]:
    return {name: pattern for names, pattern in table.items() for name in names.split("|")}


_PATTERNS: tuple[tuple[Routine, dict[str, str]], ...] = (
    ("reads", _by_name(_READS)),
    ("installs", _by_name(_INSTALLS)),
    ("restarts", _by_name(_RESTARTS)),
)
MAX_WORDS, MAX_TEXT = 80, 2_000


def routine(argv: tuple[str, ...]) -> Routine:
    """`argv`: the program with its folder, as an administrator would run it, and its words."""
    if not argv or len(argv) > MAX_WORDS or any(".." in word for word in argv):
        return ""
    name = argv[0].rpartition("/")[2]
    if "/" in argv[0] and not argv[0].startswith(("/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/")):
        return ""
    words = "".join(f" {word.replace(' ', _BLANK)}" for word in argv[1:])[: MAX_TEXT + 1]
    if len(words) > MAX_TEXT:
        return ""
    return next((kind for kind, table in _PATTERNS if name in table and compiled(table[name]).fullmatch(words)), "")
