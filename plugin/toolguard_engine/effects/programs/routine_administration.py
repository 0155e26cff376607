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
    r"|-o Dpkg::Options::=--force-conf(?:old|def)|--no-upgrade"
    r"|--noconfirm|--needed|--refresh|--no-cache|--non-interactive|--best|--no-progress))*"
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

_ETC = r"/etc/(?!g?shadow)[\w./@-]{1,120}"
"""A file of settings that only an administrator can change: others may name modules that a check loads."""

_SUDOERS = r"(?:/etc/sudoers[\w./-]{0,80}|/tmp/[\w-]{1,60}|[\w./-]{0,80}sudoers[\w.-]{0,40})"
"""A file of rules for `sudo`, installed or not. Of another file, a check would show the lines that are no rules."""

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
        rf"--file|--root|--image)[\w./@:=+,*-]{{1,120}}| (?:--(?:since|until|grep|identifier)=|-[gSUt])?"
        rf"(?!-[a-zA-Z-])[\w:.+|-]{{1,60}}(?:{_BLANK}[\w:.+|-]{{1,60}}){{1,5}})*"
    ),
    "dmesg": (
        r"(?: (?:-[THWkuwxlfJePrS]{1,6}|--(?:human|follow|level=[\w,]+|ctime|color=\w+|since|decode)|\w[\w,:-]{0,39}))*"
    ),
    (
        "df|du|free|uptime|uname|lsblk|lscpu|lsusb|lspci|lsmod|lshw|dmidecode|last|lastb|w|who|ps|"
        "pstree|vmstat|iostat|lsns|findmnt|nproc|stat|netstat|lsof|sensors|pvs|vgs|lvs|pvdisplay|"
        "vgdisplay|lvdisplay|getcap|modinfo"
    ): (
        r"(?: (?!-\w*[KD]|--(?:kill|diag|dump|config|profile|cache|garbage|write|exclude-f|f(?:i(?:l\S*)?)?(?:[ =]|\Z))"
        r"|-dump|-c\Z|-c )[\w./@:=%+,*~-]{1,200})*"
    ),
    "ss": r"(?: (?!-\w*[KDF]|--(?:k|di|f))[\w./@:=%+,*~-]{1,200})*",
    "powermetrics|purge|dscacheutil|mdutil": r"(?: -[a-z]{1,12}| \d{1,4})*",
    "hostname": r"(?: -[AIadfis])*",
    "blkid": r"(?: -(?:o|s) \w+| /dev/\w+)*",
    "ufw": r" (?:status(?: verbose| numbered)?|version|app list|show \w+)",
    "fdisk|sfdisk|parted|gdisk": r" -l(?: [\w/.-]{1,60})*",
    "iptables|ip6tables": (
        r"(?: -t (?:nat|filter|mangle|raw)| -[nvx]{1,3}| --line-numbers)*"
        r" (?:-[nvx]{0,3}[LS][nvx]{0,3}|--list|--list-rules)(?: [A-Z][\w-]{1,20})?(?: -[nvx]{1,3}| --line-numbers)*"
    ),
    "iptables-save|ip6tables-save|ebtables-save|arptables-save": r"(?: -c| -t \w{1,10})*",
    "nft": (
        rf"(?: -[aenNsSjy]{{1,6}}| --(?:handle|json|stateless|numeric))* list [\w -]{{1,80}}"
        rf"| (?:-c -f|-cf) {_ETC}| -f {_ETC} -c| --check (?:-f|--file) {_ETC}"
    ),
    "firewall-cmd": (
        r"(?: --(?:state|permanent|(?:list|get)-[a-z-]{2,40}|(?:info|query)-[a-z-]{2,30}=[\w./-]{1,40}"
        r"|zone=[\w-]{1,20}))+"
    ),
    "conntrack": r" (?:-C|-S|-L(?: -[psdf] [\w.:/]{1,40})*)",
    "tc": r"(?: -[sdp])* (?:qdisc|class|filter)(?: (?:show|list|ls)(?: dev [\w.@-]{1,20})?)?",
    "bridge": r" (?:link|fdb|vlan|mdb)(?: show)?",
    "arp": r"(?: -[ane]{1,3})*",
    "route": r"(?: -[ne46]{1,3})*",
    "mdadm": r" (?:--detail|-D|--examine|-E|--query|-Q)(?: --(?:scan|brief|verbose))*(?: /dev/[\w/]{1,40})*",
    "wg": r" show(?: [\w-]{1,20}){0,2}",
    "smartctl": r"(?: -(?:a|i|H|x|A|l \w+|d [\w,]+))+(?: [\w/.*?\[\]-]{1,60})",
    "ls": r"(?: -[a-zA-Z1]{1,12}| --[a-z-]{1,30}(?:=[\w+-]{1,30})?| /[\w./@:+*-]{0,200})* /[\w./@:+*-]{0,200}",
    "find": r"(?: (?!-(?:exec|ok|delete|fprint|fls|files0))[^ \0]{1,200})+",
    "nmap": rf"(?: -(?:sn|sP|sL|n|T[0-4]|v))*(?: {_PRIVATE})+",
    "lynis": r" audit system(?: (?:--quick|-Q|--quiet|-q|--no-colors|--cronjob))*",
    "hdparm": r" -[iICtT]{1,2}(?: /dev/[\w/.-]{1,60})+",
    "multipath": r" -ll?",
    "iscsiadm": r" -m (?:session|node)(?: -P \d)?",
    "ipmitool": (
        r" (?:(?:sdr|sensor)(?: list)?|sel (?:e?list|info)|(?:chassis )?power status|chassis status|fru(?: print)?|mc info"
        r"|lan print(?: \d)?)"
    ),
    "efibootmgr": r"(?: -v)?",
    "mokutil": r" --(?:sb-state|list-enrolled)",
    "dkms": rf" status{_WORDS}",
    "bootctl": r"(?: status| list)?",
    "top": r"(?: -b?c?n? ?\d{1,3}| -bc?| -c| -o [\w%+]{1,10})+",
    "iotop": r"(?: -[boPaqkt]{1,7}| -[nd] \d{1,3})+",
    "systemd-analyze": rf"(?: (?:time|blame|critical-chain|security|unit-paths|calendar|timespan){_WORDS})?",
    "systemd-cgls|systemd-detect-virt": _WORDS,
    "coredumpctl": rf" (?:list|info){_WORDS}",
    "needrestart": r"(?: -v)?(?: -[bp]| -r l)+",
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
    "nginx|apache2ctl|apachectl|httpd|apache2|sshd|postfix": (
        rf" (?:-q )?(?:-t|-T|-v|-V|-c|-S|-M|configtest|check|status)(?: -[cf] {_ETC})?(?: -C [\w=.,:@-]{{1,120}})?"
    ),
    "visudo": rf" -[cqs]{{1,3}}(?: -f {_SUDOERS}| {_SUDOERS})?| -[cqs]{{0,3}}c[qs]{{0,2}}f {_SUDOERS}",
    "a2query": r" -[msc]{1,2}(?: \w{1,30})?",
    "named-checkconf": rf"(?: -[chjlpvxz])*(?: {_ETC})?",
    "haproxy": rf"(?: -c| -V| -q| -f {_ETC})* -c(?: -V| -q| -f {_ETC})*| -vv?",
    "caddy": rf" (?:version|list-modules|validate --config {_ETC}(?: --adapter \w{{1,20}})?)",
    "traefik": r" (?:version|healthcheck)",
    "named-checkzone": rf" [\w.-]{{1,80}} {_ETC}",
    "unbound-checkconf": rf"(?: {_ETC})?",
    "promtool": rf" check config {_ETC}",
    "squid": rf" -k parse(?: -f {_ETC})?",
    "doveconf|dovecot": r" -[nd]",
    "postconf": r"(?: -[dhnMPxv]{1,3})*(?: [a-z][a-z0-9_]{1,60})*",
    "postqueue": r" -[pj]",
    "mailq|atq": r"",
    "exim|exim4": r" -bp[cru]?",
    "doveadm": rf" (?:who|search|user|penalty|mailbox (?:list|status)|quota get|log (?:find|errors)){_WORDS}",
    "git": r" -C /etc (?:status|log)(?: (?:--short|--oneline|--stat|-s|-b|-\d{1,3}))*",
    "etckeeper": r" vcs (?:status|log)(?: (?:--short|--oneline|--stat|-\d{1,3}))*",
    "lpstat|lpq": _WORDS,
    "lpinfo": r" -[vm]",
    "debsums": r"(?: -[acsel]{1,5}| [a-z0-9][\w.+-]{0,60})*",
    "rkhunter": r"(?: (?:--check|-c|--sk|--skip-keypress|--rwo|--report-warnings-only|--nocolors))+",
    "chkrootkit": r"(?: -q)?",
    "aide": r" --(?:check|compare)",
    "auditctl": r" -[ls]",
    "aureport|ausearch": r"(?: (?!--(?:ch|if)|-if)[\w:/.=-]{1,60})*",
    "aa-status|apparmor_status|getenforce|sestatus": r"(?: -[vb]| --\w{1,20})*",
    "getent": r" (?:passwd|group|hosts|ahosts|ahostsv4|services|networks|protocols)(?: [\w.@:-]{1,80})*",
    "passwd": r" -S(?: [\w-]{1,32}| -a)?",
    "chage": r" -l [\w-]{1,32}",
    "crontab": r"(?: -u [\w-]{1,32})? -l| -lu [\w-]{1,32}",
    "rndc": r" (?:status|zonestatus [\w.-]{1,80})",
    "unbound-control": r" (?:status|stats_noreset|list_\w{1,30}|dump_infra)",
    "pihole": r" (?:status|-v|version)",
    "cscli": rf" (?:decisions|alerts|bouncers|machines|collections|scenarios|parsers) list{_WORDS}| metrics",
    "tailscale": r" (?:status|ip|netcheck|version)(?: -[46]| --\w{1,20})*",
    "zerotier-cli": r" (?:status|info|listnetworks|listpeers|peers)",
    "ceph": r" (?:-s|status|health(?: detail)?|osd (?:tree|df|status)|df|mon stat|pg stat)",
    "rabbitmqctl": rf" (?:status|cluster_status|list_(?!.*param)\w{{1,30}}){_WORDS}",
    "mysqladmin|mariadb-admin": r"(?: -u \w{1,32})? (?:status|processlist|ping|version|extended-status)",
    "pg_lsclusters|pg_isready": r"(?: -[hq])?",
    "redis-cli": r"(?: -n \d{1,3})? (?i:info|ping|dbsize|client list|lastsave|memory stats)(?: \w{1,20})?",
    "virsh": (
        rf" (?:list|dominfo|domblklist|domifaddr|domstate|domstats|net-list|net-dhcp-leases|pool-list|vol-list|nodeinfo"
        rf"|version|snapshot-list){_WORDS}"
    ),
    "lxc|incus": rf" (?:list|info|(?:image|storage|network|profile) list){_WORDS}",
    "machinectl": r"(?: list| list-images)?",
    "restic": (
        r"(?: (?:-r|--repo|--password-file|-p|--host|--tag|--latest|--path) [\w./:@-]{1,160}| --(?:json|compact|no-lock)"
        r"| --(?:repo|password-file|host|tag|latest|path)=[\w./:@-]{1,160}| (?:snapshots|stats|check|version|ls|diff|latest)"
        r"| [0-9a-f]{8})+"
    ),
    "borg": r" (?:list|info|check)(?: [\w./:@-]{1,160}| --(?:last|first) \d{1,4}| --(?:short|json))*",
    "snapper": r"(?: -c \w{1,30})? (?:list|ls|status \d{1,6}\.\.\d{1,6})",
    "timeshift": r" --list",
    "tmutil": r" (?:list\w{1,30}|status|latestbackup|destinationinfo|isexcluded)(?: [\w./@~ -]{1,200})*",
    "softwareupdate": r" (?:-l|--list|--history)",
    "pmset": r" -g(?: \w{1,20})?",
    "csrutil|spctl": r" (?:status|--status)",
    "systemsetup": r" -get\w{3,40}",
    "networksetup": r" -(?:list|get)\w{3,40}(?: [\w-]{1,40})*",
    "scutil": r" --(?:dns|proxy|nwi|get \w{1,30})",
    "testparm": r" -s",
    "pdbedit": r"(?: (?:-L|--list))(?: [a-z_][\w.-]{0,31})?",
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
    "fail2ban-client": r" (?:status(?: [\w-]{1,40})?|get [\w-]{1,40} \w{2,30}|banned|ping|version|-t|--test|-d)",
}  # fmt: skip
_INSTALLS = {
    "apt|apt-get|aptitude": (
        rf"{_QUIET} (?:update|upgrade|full-upgrade|dist-upgrade|autoclean|autoremove(?: --purge)?|clean"
        rf"|install{_QUIET}{_NAMES}){_QUIET}"
    ),
    "dpkg": r" --configure(?: -a)",
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
_MOUNT = r"[a-z][\w.@-]{0,80}\.(?:mount|automount)"
"""A unit that mounts what the administrator has set up. Stopping it is another matter."""
_KEPT = r"(?:bak|back|backup|old|orig|saved?|pre|before|\d{4})"
"""How the name of a backup ends. An unknown ending may lead to another folder, so what is copied must be the system's."""
_RESTARTS = {
    "systemctl": (
        rf"(?: --(?:user|no-block))* (?:daemon-reload|reset-failed(?: {_UNIT})?"
        rf"|(?:start|restart|reload|try-restart|reload-or-restart)(?: {_UNIT}){{1,5}}|start(?: {_MOUNT}){{1,5}})"
    ),
    "etckeeper": r" commit [^\0-][^\0]{0,200}",
    "cp": (
        rf"(?: -[aprv]{{1,4}})* (?P<file>(?!/(?:tmp|var/tmp|dev|home|Users|run|mnt|media)/)"
        r"/(?:(?P<own>etc|usr|var/lib)/)?[\w./@+-]{1,200}?)/?"
        rf" (?P=file)[.~_-](?:{_KEPT}[\w.:+-]{{0,60}}|(?(own)(?:{_KEPT}[.~_+-]?)?{UNKNOWN}))"
    ),
    "service": rf" {_UNIT} (?:start|restart|reload)",
    "journalctl": (
        r" --vacuum-(?:time=(?:(?:[3-9]|[1-9]\d{1,2})(?:d|days)|[1-9]\d?(?:w|weeks|months?))|size=[1-9]\d{0,3}[MG])"
    ),
    "timedatectl": r" set-timezone [A-Za-z]{1,40}(?:/[\w+-]{1,40}){0,2}",
    "mount": (
        r"(?: -t (?:auto|vfat|exfat|ntfs3?|ext[234])| -o (?:ro|rw|uid=\d+|gid=\d+|umask=\d+|,)+)* "
        r"/dev/(?:sd[b-z]\d|mmcblk\d+p\d+|sr\d|disk/by-\w+/[\w-]{1,60}) /(?:mnt|media)(?:/[\w-]{1,60}){0,3}"
    ),
    "certbot": (
        r" renew(?: --(?:dry-run|quiet|no-self-upgrade))*"
        r"| certonly(?=.* --dry-run(?: |\Z))"
        r"(?: --(?:dry-run|nginx|apache|webroot|standalone|reuse-key|non-interactive|expand)| -n"
        r"| --cert-name [\w.-]{1,100}| -d [\w.*,-]{1,200}| -w /[\w./-]{1,120})*"
    ),
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
    "cupsctl": r"(?: --(?:no-)?(?:share-printers|debug-logging))*",
    "lpadmin": (
        r"(?: -[pdDL] ?[\w.,@+:-]{1,100}| -m ?(?:everywhere|drv:[\w.,@+:/-]{1,100})| -E| -o printer-is-shared=(?:true|false)"
        r"| -o [A-Z][A-Za-z]{2,30}=[A-Za-z0-9]{1,30}| -v ?(?:ipps?|socket|lpd|usb|dnssd|hp)://?[\w.%@:/?=+-]{1,200})*"
    ),
    "cupsenable|cupsaccept": r"(?: [\w-]{1,60}){1,5}",
}


def _by_name(table: dict[str, str]) -> dict[str, str]:
    return {name: pattern for names, pattern in table.items() for name in names.split("|")}


_PATTERNS: tuple[tuple[Routine, dict[str, str]], ...] = (
    ("reads", _by_name(_READS)),
    ("installs", _by_name(_INSTALLS)),
    ("restarts", _by_name(_RESTARTS)),
)
MAX_WORDS, MAX_TEXT = 80, 2_000


def installed(argv: tuple[str, ...]) -> str:
    """The name of the program, if it is one of the system; empty otherwise."""
    name = argv[0].rpartition("/")[2] if argv else ""
    return "" if "/" in "".join(argv[:1]) and not argv[0].startswith(_FOLDERS) else name


_FOLDERS = ("/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/")


def routine(argv: tuple[str, ...]) -> Routine:
    """`argv`: the program with its folder, as an administrator would run it, and its words."""
    name = installed(argv)
    if not name or len(argv) > MAX_WORDS or any(".." in word for word in argv):
        return ""
    words = "".join(f" {word.replace(' ', _BLANK)}" for word in argv[1:])[: MAX_TEXT + 1]
    if len(words) > MAX_TEXT:
        return ""
    return next((kind for kind, table in _PATTERNS if name in table and compiled(table[name]).fullmatch(words)), "")
