"""Which commands of an administrator are routine, and which only resemble them."""

from __future__ import annotations

import pytest

from toolguard_engine.effects.programs.routine_administration import routine


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("apt-get install -y g++ libstdc++-12-dev", "installs"),
        ("apt list --installed", "reads"),
        ("ss -tulwn", "reads"),
        ("ip -br a", "reads"),
        ("nmcli dev wifi", "reads"),
        ("iptables -L -nv --line-numbers", "reads"),
        ("rpm -qa --last", "reads"),
        ("cat /proc/cpuinfo", "reads"),
        ("certbot renew --dry-run", "restarts"),
        ("btrfs scrub start /mnt/data", "restarts"),
        ("docker exec -it -u www-data nextcloud php occ files:scan", "restarts"),
        ("docker compose -f stack/compose.yml up -d", "restarts"),
        ("mdadm --detail /dev/md0", "reads"),
        ("apt-get -s upgrade", "reads"),
        ("apt-get -qq --simulate dist-upgrade", "reads"),
        ("apt install --dry-run vim", "reads"),
        ("nvme smart-log /dev/nvme0", "reads"),
        ("nvme list", "reads"),
        ("nvme id-ctrl -H /dev/nvme0n1", "reads"),
        ("caddy validate --config /etc/caddy/Caddyfile --adapter caddyfile", "reads"),
        ("pct list", "reads"),
        ("qm status 100", "reads"),
        ("pvesh get /nodes/pve/qemu --output-format json", "reads"),
        ("haproxy -c -f /etc/haproxy/haproxy.cfg", "reads"),
        ("sshd -t -f /etc/ssh/sshd_config", "reads"),
        ("named-checkconf /etc/bind/named.conf", "reads"),
        ("apachectl configtest", "reads"),
        ("postfix check", "reads"),
        ("traefik version", "reads"),
        ("apt-get -s -o Dir::Bin::dpkg=/tmp/x upgrade", ""),
        ("nvme format /dev/nvme0", ""),
        ("caddy run", ""),
        ("qm destroy 100", ""),
        ("pvesh set /nodes/pve/qemu/100/config -delete net0", ""),
        ("nginx -t -c /tmp/nginx.conf", ""),
        ("haproxy -f /etc/haproxy/haproxy.cfg", ""),
        ("apt-get remove openssh-server", ""),
        ("docker exec --privileged x sh", ""),
        ("docker run -v /:/h alpine", ""),
        ("certbot renew --deploy-hook x", ""),
        ("mdadm --stop /dev/md0", ""),
        ("zpool destroy tank", ""),
        ("apt install ssh-", ""),
        ("apt list -o Dir::Bin::methods=x", ""),
        ("apt -c list list", ""),
        ("dnf list --setopt=pluginpath=x", ""),
        ("rpm -qa --pipe sh", ""),
        ("iptables -L -Z", ""),
        ("ip link d eth0", ""),
        ("nmcli con d eth0", ""),
        ("hostname other", ""),
        ("dmesg --clear", ""),
        ("ss -D /etc/x", ""),
        ("blkid -w /etc/x", ""),
        ("lshw -dump /etc/x", ""),
        ("vgs --config x", ""),
        ("cat /proc/1/root/etc/sudoers", ""),
        ("cat /proc/kcore", ""),
    ],
)
def test_routine(command: str, kind: str) -> None:
    assert routine(tuple(command.split())) == kind
