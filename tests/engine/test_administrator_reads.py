"""Which commands under `sudo` only look, and their neighbours that change something or show a secret."""

from __future__ import annotations

from tables import each_row
from toolguard_engine.effects.commands.effects import effects
from toolguard_engine.effects.commands.unwrap import read
from toolguard_engine.effects.facts.places import Where

HERE = Where(home="/home/ada", cwd="/home/ada/work", workspace="/home/ada/work", state_dir="/home/ada/.openclaw")


def kinds(command: str) -> set[str]:
    """What kind of work each elevated command is; empty text if none that is routine."""
    return {" ".join(each.flags) for each in effects(read(command), HERE) if each.kind == "elevate"}


@each_row(
    "command",
    [
        "cat /etc/caddy/Caddyfile", "grep -vE '^(#|$)' /etc/ssh/sshd_config /etc/ssh/sshd_config.d/*.conf",
        "ls -la /root/.ssh",
        "grep -rn smtp.example /etc/postfix /etc/nginx", "grep -rn bind-address /etc", "grep -c x ~bob/.ssh/authorized_keys",
        "sed -n 1,20p /etc/fstab", "sed -n '/server {/,/}/p' /etc/nginx/nginx.conf", "awk '{print $1}' /etc/fstab",
        "diff -u /etc/nginx/a.conf /etc/nginx/a.conf.bak", "tail -n 50 /var/log/auth.log", "cat /usr/local/sbin/backup.sh",
        "sha256sum /etc/shadow", "stat /root/x", "true", "id", "test -f /etc/x", "du -sh /root",
        "openssl x509 -in /etc/letsencrypt/live/x/cert.pem -noout -dates",
        "mysql -N -e 'select user, host from mysql.user where host <> 1'", "sqlite3 /var/lib/x.db 'select count(*) from t'",
        "sqlite3 'file:/srv/x.db?mode=ro' \"select a, round(sum(b), 2) from t where c > datetime('now') group by 1\"",
        "mariadb -e 'select version(); show databases'", "-u postgres psql -c '\\l+'", "-u postgres psql -l",
        "-u postgres psql -Atc 'select count(*) from t' stock", "-u bob ls -l",
        "-u postgres psql -c 'select u.id, count(*) from users u join a on a.x = u.id where u.id in (1, 2) group by u.id'",
        "-u postgres psql -c '\\deu'", "-u postgres psql -c 'select 3 * 4, array[1]'",
        "mysql -e 'select `a`, count(*) from `users` group by `a`'",
        "cat /proc/1/status", "cat /proc/meminfo", "cat /proc/net/dev", "cat /proc/sys/vm/swappiness", "ss -tlnp",
        "du -sh -d 1 /",
        "ss -tn state established", "findmnt --first-only /", "grep -rn listen_addresses /etc",
        "grep -rn ServerName /etc/nginx",
        "nft -a list ruleset", "nft -c -f /etc/nftables.conf.new", "iptables-save", "iptables -nvL INPUT", "postqueue -p",
        "visudo -c", "visudo -cf /etc/sudoers.d/90-x", "sshd -T -C user=a,addr=192.0.2.1,host=x", "sshd -t",
        "journalctl -u dovecot --since 'yesterday 18:00' --no-pager", "journalctl --since '-10 days' -u x",
        "fail2ban-client get dovecot maxretry", "debsums -s", "crontab -u bob -l",
        "getent passwd", "passwd -S bob", "hdparm -C /dev/sda", "restic -r /mnt/b snapshots", "LC_ALL=C ls /root",
    ],
)  # fmt: skip
def test_looks(command: str) -> None:
    assert kinds(f"sudo {command}") == {"reads"}
    assert kinds(f"ssh box {_quoted(f'sudo {command}')}") == {"reads"}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


@each_row(
    "command",
    [
        "cat /etc/shadow", "cat /root/notes", "cat /home/bob/diary", "cat /etc/postfix/sasl_passwd", "cat '/etc/postfix/*'",
        "cat /etc/*", "cat /var/lib/mysql/x.ibd", "cat ../root/x", "cat $(find_it)", "cat /proc/1/environ", "cat /tmp/x",
        "cat x", "cat ~/x", "cat /srv/x", "grep -rz server /etc/postfix", "grep -r -A 99 server /etc/postfix",
        "grep -rE '(server)?' /etc/postfix", "grep -r '[server]' /etc/postfix", "grep -r -9 server /etc/postfix",
        "grep -rE 'server{0}' /etc/postfix", "grep -r 'server\\?' /etc/postfix", "needrestart -v",
        "mysql -e 'select 1--1; drop table x'", "mysql -e 'select 1 /*! into outfile 1 */'",
        "mysql -e 'select 1 # x'", "-u postgres psql -c \"select '\\'; drop table x; select '1'\"",
        "-u postgres psql -c 'select $a$;$a$'", "mysql -e 'show grants'",
        "sqlite3 /var/x.db 'select \"'\"'\"'\"; drop table x; select \"'\"'\"'\"'",
        "head -c 100 /dev/sda", "grep -r . /etc/postfix", "grep -rn password /etc", "grep -rv zzzz /etc/postfix",
        "grep -f /etc/shadow x", "grep -rE 'server|.' /etc/postfix", "grep -rn needle /root", "wc --files0-from=/etc/shadow",
        "sed -n 'w /etc/x' /etc/fstab", "sed 's/a/b/e' /etc/fstab", "sed -i s/a/b/ /etc/fstab",
        "sed 'r /etc/shadow' /etc/hosts",
        "sed -n p /root/x", "awk '{system($1)}' /etc/fstab", "awk '{print > \"/etc/x\"}' /etc/fstab",
        "awk -f x.awk /etc/fstab",
        "awk 1 /etc/dovecot/users", "diff -r /etc/ssl /etc/x", "jq -f /etc/shadow . x", "jq 'import \"a\" as $x; $x' y",
        "openssl rsa -in /etc/ssl/private/x.key", "openssl x509 -in a.pem -out /etc/x", "openssl req -new -key x",
        "mysql", "mysql -e 'drop database x'", "mysql -e 'select * from mysql.user'", "mysql -e 'set global x=1'",
        "mysql -e 'select authentication_string from mysql.user'", "mysql -e \"select load_file('/etc/shadow')\"",
        "mysql -e \"select 1 into outfile '/etc/x'\"", "mysql -e 'select 1; \\! sh'", "mysql --init-command=x -e 'select 1'",
        "mysql -h db.example -e 'select 1'", "mysql -e 'select my_function()'", "mysql -e 'call x'",
        "mysql --tee=/etc/x -e 'show tables'",
        "sqlite3 /var/x.db '.shell id'", "sqlite3 /var/x.db \"select readfile('/etc/shadow')\"",
        "sqlite3 /home/bob/x.db 'select 1'",
        "sqlite3 -init x /var/x.db 'select 1'", "sqlite3 /var/x.db 'select api_token from t'", "sqlite3 /var/x.db",
        "sqlite3 /var/x.db \".output '/etc/x'\"", "-u postgres psql", "-u postgres psql -f x.sql",
        "-u postgres psql -o /etc/x -c '\\l'",
        "-u postgres psql -c \"select pg_read_file('x')\"", "-u postgres psql -c \"copy t to program 'sh'\"",
        "-u postgres psql -c '\\! sh'", "-u postgres psql -c '\\o |sh'",
        "-u postgres psql -c 'explain analyze delete from t'",
        "-u postgres psql -c 'select setval(1)'", "-u postgres psql -c 'select umoptions from pg_user_mapping'",
        "mysql -e 'select `f`(1)'", "mysql -e 'select x.length(1)'", "-u postgres psql -c 'select \"lo_import\"(1)'",
        f"-u postgres psql -c 'select {'a' * 63}(1)'", "-u postgres psql -c 'select évil(1)'",
        f"mysql -e 'select f{' ' * 1_500}(1)'", "-u postgres psql -c '\\deu+'", "-u postgres psql -c '\\dRs+ x'",
        "-u postgres psql -c 'select u::text from a, users as u'", "-u postgres psql -c 'select users from users'",
        "mysql -e 'select all * from mysql.user'", "mysql -e 'select b from (select 1 a, 2 b union table users) x'",
        "sqlite3 /var/x.db \"select [']; drop table x; select [']\"", "sqlite3 file://localhost/home/bob/x 'select 1'",
        "sqlite3 /var/x.db \"select data from fsdir where path='/root/x'\"", "sqlite3 file:%2fhome%2fbob%2fx 'select 1'",
        "sqlite3 /tmp/x.db 'select 1'", "sqlite3 x.db 'select 1'", "sqlite3 ~/x.db 'select 1'",
        "cat /proc/1/task/1/environ", "cat /proc/1/map_files/x", "cat /proc/self/task/1/root/root/x", "cat /proc/1/cwd/x",
        "grep -rh asswd: /etc/postfix", "grep -r BEGI /etc/ssl", "grep -rA9 'VATE KEY' /etc/ssl", "grep -rA9 OPENSSH /etc",
        "grep -rn root: /etc", "grep -rn '^alice' /etc/", "grep -rnA1 bind-address /etc", "du --files0-from=/etc/shadow",
        "du --fil=/etc/shadow", "du --exclude-from=/etc/shadow /x", "ss -F /etc/shadow", "ss --ki dst 192.0.2.1",
        "-u bob sh -c id", "-i ls", "-s ls", "-E cat /etc/hosts", "-R /x ls", "-D /x cat y", "./cat /etc/hosts",
        "/tmp/cat /etc/hosts",
        "LD_PRELOAD=/tmp/x ls", "PATH=/tmp ls", "nft flush ruleset", "nft -f /etc/x", "iptables-save -f /etc/x",
        "iptables -F",
        "visudo", "visudo -f /etc/sudoers", "visudo -cf /srv/key", "visudo -x /etc/x", "getent shadow", "passwd bob",
        "journalctl --vacuum-size=1", "journalctl -D /x", "fail2ban-client set x unbanip 192.0.2.1", "postqueue -f",
        "crontab -e",
        "crontab -u bob -r", "hdparm -Cy /dev/sda", "restic -r /mnt/b forget x", "restic -o a=b snapshots",
        "restic --password-command x snapshots", "systemctl stop nginx", "doveadm fetch text all",
        "getent --service=x passwd",
    ],
)  # fmt: skip
def test_neighbours(command: str) -> None:
    assert "" in kinds(f"sudo {command}")


@each_row(
    ("command", "kind"),
    [
        ("sudo systemctl start nginx", "restarts"), ("sudo systemctl start srv-backup.mount", "restarts"),
        ("sudo systemctl stop srv-backup.mount", ""), ("sudo systemctl restart srv.mount", ""),
        ("sudo systemctl start reboot.target", ""), ("sudo systemctl enable nginx", ""),
        ("sudo DEBIAN_FRONTEND=noninteractive apt-get -y full-upgrade", "installs"),
        ("sudo apt-get -y -o Dpkg::Options::=--force-confold upgrade", "installs"),
        ("sudo apt-get -y -o Dpkg::Options::=--force-confnew upgrade", ""),
        ("sudo apt-get -y autoremove --purge", "installs"), ("sudo apt-get -y purge nginx", ""),
        ("sudo apt-get -y install nginx --purge", ""), ("sudo dpkg --configure -a", "installs"),
        ("sudo dpkg --configure -a --root=/x", ""), ("sudo -u bob apt-get update", ""),
        ("sudo cp -a /etc/apt /etc/apt.bak", "restarts"),
        ("sudo cp -p /etc/hosts /etc/hosts.bak-$(date +%F)", "restarts"),
        ("sudo cp -a /var/lib/mysql /var/lib/mysql.pre1180", "restarts"),
        ("sudo cp /opt/x.conf /opt/x.conf.20260210", "restarts"),
        ("sudo cp /tmp/x /tmp/x.$(cat name)", ""),
        ("sudo cp /tmp/x /tmp/x.bak", ""),
        ("sudo cp -a /home/ada/x /home/ada/x.bak", ""),
        ("sudo cp /srv/x /home/ada/x", "files"), ("sudo tar -C /opt/home -czf /mnt/nas/home.tgz .", "files"),
        ("sudo chown -R ada /home/ada/.cache/x", "files"), ("sudo chown ada /var/lib/x", ""),
        ("sudo sed -i 's/a/b/' /srv/x.conf", "files"), ("sudo sed -i 's/a/b/e' /srv/x.conf", ""),
        ("sudo sed -i 's/a/b/' /var/lib/x", ""), ("sudo mkdir -p /root/backup", "files"),
        ("sudo -u www-data wp cache flush", "lesser"), ("sudo -u www-data sh -c id", ""), ("sudo -u bob wp x", ""),
        ("sudo -u root wp x", ""), ("sudo -u postgres psql", ""), ("sudo -u www-data ./wp x", ""),
        ("sudo cp /tmp/x /etc/x.bak", ""),
        ("sudo cp /etc/x.bak /etc/x", ""),
        ("sudo cp /etc/x /etc/x2", ""),
        ("sudo cp --remove-destination /etc/x /etc/x.bak", ""),
        ("sudo cp /etc/x /etc/x.bak/../cron.d/x", ""),
        ("sudo cp /etc/x /etc/x.old/y", ""),
        ("sudo git -C /etc status --short", "reads"),
        ("sudo git -C /home/x status", ""),
        ("sudo git -C /etc diff", ""),
        ("sudo etckeeper commit 'ssh hardening'", "restarts"),
        ("sudo etckeeper uninit", ""),
        ("sudo certbot certonly --dry-run --nginx -d x.example", "restarts"), ("sudo certbot certonly -d x.example", ""),
        ("sudo certbot certonly --dry-run --deploy-hook x -d x.example", ""),
        ("echo 'drop database x' | sudo mysql -e 'select 1'", ""), ("sudo mysql -e 'select 1' < x.sql", ""),
    ],
)  # fmt: skip
def test_work(command: str, kind: str) -> None:
    assert kinds(command) == {kind}
