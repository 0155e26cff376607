"""Well-known names of Linux and macOS (and some of Windows) that `facts.places` uses. Data only.

Names of folders end in a slash if only their content counts. `HOME_...` is relative to a home folder.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Place
from toolguard_engine.effects.facts.folder_names import LOCALISED
from toolguard_engine.effects.facts.letter_case import folded


def word_set(text: str) -> frozenset[str]:
    """A set of words from one space-separated text."""
    return frozenset(text.split())


NULL: Final = word_set("/dev/null /dev/stdin /dev/stdout /dev/stderr /dev/tty /dev/zero /dev/full /dev/random /dev/urandom")
NULL_FOLDERS: Final = ("/dev/fd/", "/dev/tcp/", "/dev/udp/", "/dev/pts/", "/dev/tty", "/dev/cu.")
"""Sockets of the shell are not files; the network effects cover them."""

PRIVATE: Final = ("/private/etc", "/private/var", "/private/tmp")
FIRM: Final = "/System/Volumes/Data"
"""Where macOS mounts the writable disk, with `/Users` and everything else on it, a second time."""
HOME_VARIABLES: Final = {
    "HOME": "", "USERPROFILE": "", "XDG_CONFIG_HOME": "/.config", "XDG_DATA_HOME": "/.local/share",
    "XDG_CACHE_HOME": "/.cache", "GNUPGHOME": "/.gnupg", "APPDATA": "/AppData/Roaming", "ZDOTDIR": "",
}  # fmt: skip
VARIABLES: Final = {
    "TMPDIR": "/tmp", "TMP": "/tmp", "TEMP": "/tmp", "RUNNER_TEMP": "/tmp",  # noqa: S108 - names
    "SYSTEMROOT": "/c:/windows", "WINDIR": "/c:/windows", "SYSTEMDRIVE": "/c:", "PROGRAMFILES": "/c:/program files",
}  # fmt: skip

_TOP = word_set(
    "bin boot dev etc home lib lib32 lib64 opt proc root sbin srv sys usr var Users System Library Applications Volumes "
    "private"
)
_SECOND = word_set("usr/bin usr/sbin usr/lib usr/lib64 usr/libexec usr/share usr/local var/lib var/home System/Library")
ROOTS: Final = (
    word_set("/ /nix /nix/store /c: /c:/windows /c:/windows/system32 /c:/users /mnt/c")
    | {f"/{name}" for name in (_TOP | _SECOND) - {"root"}}
    | {"/c:/program files", "/Library/Application Support"}
)
SYSTEM: Final = (
    *(f"/{name}/" for name in sorted(_TOP - {"home", "Users", "root", "Volumes", "private", "srv"})),
    "/c:/windows/", "/c:/program files", "/c:/programdata/", "/mnt/c/windows/", "/run/", "/selinux/", "/nix/", "/lost+found",
    "/initrd", "/vmlinuz", "/swapfile", "/swap.img", "/libx32/", "/cores/", "/snap/", "/usr/",
)  # fmt: skip
MOUNTED: Final = "/run/media/"
"""Where desktops mount the drives of a user, inside of a folder of the system."""
SYSTEM_ROOTS: Final = frozenset(["/run", "/mnt", "/media", "/snap", "/libx32", "/cores"])
TEMP: Final = ("/tmp/", "/var/tmp/", "/var/folders/", "/usr/tmp/", "/c:/temp/", "/c:/windows/temp/")  # noqa: S108 - names
TEMP_ROOTS: Final = frozenset(["/tmp", "/var/tmp", "/dev/shm"])  # noqa: S108 - names
LOGS: Final = ("/var/log", "/Library/Logs", "/var/audit", "/var/db/diagnostics", "/var/run/utmp", "/run/utmp", "/run/log/")

ARTEFACTS: Final = word_set(
    "node_modules bower_components dist build out target _build obj __pycache__ .pytest_cache .mypy_cache .ruff_cache "
    ".tox .nox .vercel "
    ".venv venv .cache .parcel-cache .turbo .next .nuxt .output .svelte-kit .angular .vite .eggs htmlcov coverage .coverage "
    ".nyc_output .gradle .terraform .dart_tool DerivedData Pods CMakeFiles cmake-build-debug cmake-build-release bazel-out "
    "storybook-static .docusaurus .serverless .aws-sam cdk.out .hypothesis .ipynb_checkpoints tmp temp .tmp .DS_Store "
    "playwright-report test-output test-results test-reports test-report package-lock.json yarn.lock pnpm-lock.yaml "
    ".egg _site .sass-cache .jekyll-cache .astro .swc .esbuild .rollup.cache .wireit .stryker-tmp .expo .metro-cache "
    ".metals .bloop .godot .zig-cache zig-cache zig-out elm-stuff .stack-work dist-newstyle autom4te.cache .pub-cache "
    ".kotlin .cxx .externalNativeBuild xcuserdata out-tsc jspm_packages .pnpm-store .rpt2_cache .eslintcache "
    ".stylelintcache blib cover_db packs-test __snapshots__ coverage.xml coverage.json lcov.info junit.xml"
)
ARTEFACT_ENDS: Final = (
    ".egg-info", ".pyc", ".pyo", ".pyd", ".o", ".obj", ".class", ".dist-info", ".tsbuildinfo", "__pycache__",
    ".a", ".la", ".lo", ".gch", ".gcda", ".gcno", ".gcov", ".elc", ".beam", ".hi", ".dSYM", ".swp", ".orig", ".rej", ".aux",
    ".synctex.gz", ".fdb_latexmk", "~", ".js.map", ".css.map", ".d.ts.map",
)  # fmt: skip
BUILT: Final = lazy_re.compile(
    r"(?:[^\W_]{1,20}[-_])?(?:build|dist)(?:[-_](?:\*|ssr|electron|web|node|debug|release|linux|mac|macos|darwin|win|windows|android"
    r"|ios|arm\w{0,5}|x86\w{0,5}|amd64|wasm|tests?|prod|dev|asan|tsan|ubsan|msan|coverage|cov|esm|cjs|umd|types|lib|client|server|docs|site|static|output|\d{1,6}))?"
)
"""Folders named after a kind of build: `build-debug`, `dist_electron`, `cross-build`, `build-*`."""

PERSONAL_FOLDERS: Final = word_set(
    "documents desktop pictures photos images music videos movies public templates dropbox onedrive nextcloud owncloud "
    "notes obsidian zotero calibre ebooks books scans taxes family private personal important backup backups archive "
    "dokumente schreibtisch bilder musik vorlagen documentos escritorio im\u00e1genes m\u00fasica v\u00eddeos bureau images "
    "musique mod\u00e8les documenti scrivania immagini musica "
    "itunes lightroom"
) | word_set(
    "documenten afbeeldingen muziek bureaublad dokumenter billeder skrivebord dokument skrivbord asiakirjat kuvat musiikki "
    "videot työpöytä dokumenty obrazy muzyka wideo pulpit obrázky hudba videa plocha dokumentumok képek zene videók "
    "belgeler resimler müzik videolar masaüstü documente imagini muzică imagens slike glasba glazba dokumenti "
    "dokumen gambar документы изображения музыка видео "
    "документи зображення музика відео 文档 图片 音乐 视频 桌面 "
    "文件 圖片 音樂 影片 ドキュメント 書類 画像 ピクチャ 音楽 ミュージック ビデオ "
    "デスクトップ 문서 사진 음악 비디오 바탕화면 έγγραφα εικόνες μουσική "
    "מסמכים תמונות مستندات صور "
)
"""In lower case: folders of xdg-user-dirs (by its translations) and macOS, of file services, and common ones of people."""
_PERSONAL_BELOW: Final = (
    "google drive/",
    "library/mobile documents/",
    "icloud drive/",
    "library/cloudstorage/",
    "my documents/",
    "рабочий стол/",
    "робочий стіл/",
    "área de trabalho/",
    "tài liệu/",
    "hình ảnh/",
)
_PERSONAL_ENDS: Final = (
    ".pdf", ".doc", ".docx", ".odt", ".rtf", ".xls", ".xlsx", ".ods", ".numbers", ".pages", ".ppt", ".pptx", ".odp", ".key",
    ".jpg", ".jpeg", ".png", ".heic", ".raw", ".cr2", ".nef", ".psd", ".mov", ".mp4", ".mkv", ".mp3", ".flac", ".m4a",
    ".txt", ".md", ".org", ".tex", ".ged", ".kdbx", ".gnucash", ".qif", ".ofx", ".vcf", ".ics", ".epub",
)  # fmt: skip


def is_personal(inside: str) -> bool:
    """Whether a path in the home folder is a document, picture, ... of the user: in a folder that keeps such files, or a
    file of such a kind in the home folder itself."""
    low = folded(inside)
    first, slash, _ = low.partition("/")
    if first in PERSONAL_FOLDERS or first in LOCALISED or low.startswith(_PERSONAL_BELOW):
        return True
    return not slash and low.endswith(_PERSONAL_ENDS)


HISTORIES: Final = word_set(
    ".bash_history .zsh_history .zhistory .history .sh_history .ash_history .python_history .mysql_history .psql_history "
    ".sqlite_history .lesshst .node_repl_history .viminfo .local/share/fish/fish_history .bash_sessions .zsh_sessions"
)

SSH: Final[dict[str, Place]] = {
    "authorized_keys": "startup", "authorized_keys2": "startup", "rc": "startup", "environment": "startup",
    "config": "startup",
    "known_hosts": "", "known_hosts.old": "",
}  # fmt: skip
PUBLIC: Final = (".pub", "-cert.pub")

HOME_STARTUP: Final = word_set(
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zprofile .zshenv .zlogin .zlogout "
    ".shrc .shinit "
    ".kshrc .mkshrc .cshrc .tcshrc .login .logout .xinitrc .xprofile .xsession .xsessionrc .Xsession .pam_environment "
    ".rhosts "
    ".shosts .claude.json .aider.conf.yml .gitconfig .vimrc .gvimrc .exrc .emacs .tmux.conf .screenrc "
    ".forward .k5login .pythonrc .pythonrc.py .launchd.conf .bashrc.d .profile.d .zshrc.d"
)
HOME_STARTUP_BELOW: Final = (
    ".config/powershell/profile", ".config/powershell/Microsoft.", ".config/powershell/powershell.config",
    "Documents/PowerShell/profile", "Documents/PowerShell/Microsoft.", "Documents/PowerShell/powershell.config",
    "Documents/WindowsPowerShell/profile", "Documents/WindowsPowerShell/Microsoft.",
    ".config/fish/", ".config/autostart", ".config/systemd", ".config/environment.d", ".config/upstart",
    ".config/plasma-workspace/env",
    ".config/autostart-scripts", ".local/share/systemd", ".local/share/dbus-1/services", ".oh-my-zsh/custom",
    ".kde/Autostart",
    "Library/LaunchAgents", "Library/LaunchDaemons", "Library/StartupItems", "Library/Scripts/Folder Action Scripts",
    ".config/git/config", ".cargo/config", ".gradle/init.gradle", ".gradle/init.d", ".config/nvim/init", ".vim/vimrc",
    ".vim/plugin", ".vim/autoload", ".vim/after", ".emacs.d/init", ".config/emacs/init", ".ipython/profile_default/startup",
    ".config/pip/pip.conf", ".pip/pip.conf", ".config/direnv/direnvrc", ".tmux/", ".config/tmux/tmux.conf",
    ".config/cron", ".config/zsh/.z", "AppData/Roaming/Microsoft/Windows/Start Menu/Programs/Startup",
    "appdata/roaming/microsoft/windows/start menu/programs/startup",
    ".claude/settings", ".claude/hooks", ".codex/config", ".codex/hooks", ".codex/rules", ".gemini/settings",
    ".gemini/hooks", ".cursor/mcp.json", ".cursor/hooks", ".cursor/cli-config", ".copilot/config", ".copilot/mcp-config",
    ".config/opencode/opencode.json", ".config/opencode/plugin", ".config/goose/config", ".config/amp/settings",
    ".qwen/settings", ".continue/config", ".codeium/windsurf/mcp_config.json", ".kiro/settings", ".factory/settings",
    ".factory/hooks", ".config/Claude/claude_desktop_config.json",
    "Library/Application Support/Claude/claude_desktop_config.json",
    "AppData/Roaming/Claude/claude_desktop_config.json",
)  # fmt: skip
"""The last ones belong to other agents: their hooks and servers run on their own, and their settings grant permissions."""

SHADOWED: Final = program_catalogue.programs("often_shadowed")
"""System programs. A program of the same name in a folder of the user's own runs instead."""
HOME_PROGRAMS: Final = (".local/bin/", "bin/", ".bin/")
HOME_CACHES: Final = (
    ".cache/", ".npm/_cacache", ".npm/_npx", ".npm/_logs", ".gradle/caches", ".gradle/daemon",
    ".gradle/wrapper/dists",
    ".m2/repository", ".cargo/registry", ".cargo/git", ".yarn/cache", ".yarn/berry/cache", ".bun/install/cache",
    ".pnpm-store",
    ".nuget/packages", ".ivy2/cache", ".sbt/boot", "go/pkg/mod", "Library/Caches/", ".terraform.d/plugin-cache",
    ".node-gyp",
    ".cocoapods/repos", ".conda/pkgs", ".local/share/pnpm/store", ".composer/cache", ".gem/cache", ".pub-cache",
    ".kube/cache",
)  # fmt: skip
"""What package managers fetch or build again. Models and data sets take days, so they are not caches here."""
NO_CACHES: Final = (".cache/huggingface", ".cache/torch", ".cache/kagglehub", ".cache/whisper")

SYSTEM_STARTUP: Final = (
    "/etc/profile", "/etc/bash.bashrc", "/etc/bashrc", "/etc/zsh", "/etc/zprofile", "/etc/csh.", "/etc/fish/",
    "/etc/environment",
    "/etc/rc.", "/etc/rc0.d", "/etc/rc1.d", "/etc/rc2.d", "/etc/rc3.d", "/etc/rc4.d", "/etc/rc5.d", "/etc/rc6.d",
    "/etc/rcS.d",
    "/etc/init", "/etc/cron", "/etc/anacrontab", "/var/spool/cron", "/var/spool/at", "/var/at/", "/usr/lib/cron",
    "/etc/periodic",
    "/etc/systemd/", "/lib/systemd/", "/usr/lib/systemd/", "/usr/local/lib/systemd/", "/run/systemd/", "/etc/ld.so.",
    "/etc/sudoers", "/usr/local/etc/sudoers", "/etc/doas.conf", "/etc/pam", "/usr/lib/pam/", "/lib/security",
    "/etc/security/pam",
    "/etc/udev/", "/lib/udev/", "/usr/lib/udev/", "/etc/update-motd.d", "/etc/motd", "/etc/emond.d", "/var/db/emondClients",
    "/Library/LaunchAgents", "/Library/LaunchDaemons", "/Library/StartupItems", "/System/Library/LaunchAgents",
    "/System/Library/LaunchDaemons", "/System/Library/StartupItems", "/Library/Security/SecurityAgentPlugins",
    "/etc/launchd", "/etc/modules", "/etc/modprobe.d", "/lib/modules/", "/etc/xdg/autostart", "/etc/X11/Xsession",
    "/etc/X11/xinit",
    "/etc/ssh/sshd_config", "/etc/passwd", "/etc/group", "/etc/shells", "/etc/apt/apt.conf",
    "/etc/NetworkManager/dispatcher.d",
    "/etc/network/if-", "/etc/dhcp/dhclient-", "/etc/logrotate", "/etc/acpi/", "/etc/polkit-1", "/usr/share/polkit-1",
    "/etc/xinetd", "/etc/inetd", "/etc/hosts.equiv", "/etc/authselect", "/etc/inittab", "/etc/default/grub", "/etc/grub.d",
)  # fmt: skip
STARTUP_NAMES: Final = frozenset(["authorized_keys", "authorized_keys2", "sitecustomize.py", "usercustomize.py", ".rhosts"])

HOME_SECRETS: Final[dict[str, tuple[str, ...]]] = {
    ".aws": ("credentials", "sso/", "cli/cache"), ".azure": (), ".gnupg": (), ".password-store": (), ".netrc": (),
    "_netrc": (),
    ".pgpass": (), ".my.cnf": (), ".mylogin.cnf": (), ".npmrc": (), ".pypirc": (), ".git-credentials": (), ".boto": (),
    ".s3cfg": (),
    ".vault-token": (), ".vault_pass": (), ".passwd-s3fs": (), ".smbcredentials": (), ".databrickscfg": (),
    ".rclone.conf": (),
    ".bitcoin": (), ".ethereum": (), ".electrum": (), ".monero": (), ".mozilla": ("firefox",), ".thunderbird": (),
    ".pki": (),
    ".kube": ("config", "cache/oidc-login"), ".docker": ("config.json",), ".cargo": ("credentials",),
    ".gem": ("credentials",),
    ".terraform.d": ("credentials",), ".fly": ("config.yml",), ".snowsql": ("config",), ".m2": ("settings",),
    ".gradle": ("gradle.properties",), ".composer": ("auth.json",), ".kaggle": ("kaggle.json",), ".huggingface": ("token",),
    ".claude": (".credentials",), ".codex": ("auth.json",), ".gemini": ("oauth_creds",), ".oci": (), ".bluemix": (),
    ".minikube": ("profiles",),
    ".cache": ("huggingface/token",), ".jenkins": ("secrets", "credentials"), ".circleci": ("cli.yml",), ".dockercfg": (),
    ".chef": (),
    ".ICEauthority": (), ".Xauthority": (), ".openclaw": ("credentials", "identity", "agents", "oauth.json", ".env",
    "devices", "secrets.json"),
    ".clawdbot": ("credentials", "identity", "agents", "oauth.json", ".env", "devices", "secrets.json"),
    ".local": ("share/keyrings", "share/TelegramDesktop", "share/kwalletd", "share/python_keyring"),
    ".config": (
        "gcloud", "gh/hosts", "hub", "git/credentials", "op/", "google-chrome", "chromium", "BraveSoftware",
        "microsoft-edge", "vivaldi",
        "opera", "solana", "Bitwarden", "1Password", "rclone/rclone.conf", "doctl", "netlify", "stripe", "openai",
        "anthropic", "composer/auth",
        "Slack", "discord", "Signal", "filezilla", "github-copilot", "glab-cli", "heroku", "hcloud", "sops", "age",
        "KeePassXC", "keepassxc", "Bitcoin", "Ethereum", "Electrum", "Exodus", "Monero", "Ledger Live",
        "ngrok", "configstore", "Code/User/globalStorage/state.vscdb", "containers/auth.json", "pulumi", "vercel",
        "wrangler",
    ),
    "Library": (
        "Keychains", "Cookies", "Safari", "Messages", "Mail", "Containers/com.apple.Safari",
        "Application Support/Google/Chrome",
        "Application Support/Firefox", "Application Support/BraveSoftware", "Application Support/Microsoft Edge",
        "Application Support/Chromium", "Application Support/Arc", "Application Support/Exodus",
        "Application Support/Electrum",
        "Application Support/com.apple.TCC", "Application Support/1Password", "Application Support/Slack",
        "Application Support/discord",
        "Group Containers/group.com.apple.notes", "Preferences/com.apple.loginwindow",
    ),
}  # fmt: skip
"""First part of a path in the home folder -> which of its content is secret; empty means all."""

SYSTEM_SECRETS: Final = (
    "/proc/self/environ", "/proc/1/environ",
    "/etc/shadow", "/etc/gshadow", "/etc/master.passwd", "/etc/ssl/private", "/etc/pki/tls/private", "/etc/krb5.keytab",
    "/etc/letsencrypt/live",
    "/etc/letsencrypt/archive", "/etc/letsencrypt/accounts", "/etc/kubernetes/pki", "/etc/kubernetes/admin.conf",
    "/etc/wireguard/",
    "/etc/NetworkManager/system-connections", "/etc/wpa_supplicant", "/etc/ppp/", "/etc/security/opasswd", "/etc/rancher",
    "/etc/openvpn/", "/etc/ipsec.secrets", "/var/run/secrets", "/run/secrets", "/var/lib/sss/", "/var/lib/kubelet/pki",
    "/var/backups/shadow",
    "/var/db/dslocal", "/Library/Keychains", "/var/lib/samba/private", "/var/lib/AccountsService",
    "/c:/windows/system32/config/sam",
    "/c:/windows/system32/config/system", "/c:/windows/system32/config/security", "/c:/windows/ntds", "/etc/shadow-",
    "/etc/cloudflared",
    "/Library/Application Support/com.apple.TCC", "/etc/sssd/", "/etc/docker/key.json", "/etc/msmtprc", "/etc/exim4/passwd",
)  # fmt: skip
SECRET_PATTERN: Final = lazy_re.compile(
    r"/etc/ssh/ssh_host_\w+_key\Z|/proc/(?!self/|thread-self/)[^/]{1,20}/(?:environ|mem|maps)\Z"
    r"|/(?:[^/\n]{1,255}/){0,20}\.?(?:openclaw|clawdbot)/(?:credentials|identity|secrets\.json|agents/[^/\n]{1,255}/agent/auth)"
)
TRANSCRIPTS: Final = lazy_re.compile(
    rf"\.(?:openclaw|clawdbot)/agents/[^/{UNKNOWN}]{{1,255}}/(?:sessions(?:/[^{UNKNOWN}]{{0,1000}})?|[a-z]{{1,40}}\.md)"
)
"""In the home folder, in lower case: what agents said and were told, which they may read again. Secrets in results are
redacted before they are stored there."""
NO_SECRETS: Final = frozenset(["README", "README.md"])
PUBLIC_CERTIFICATES: Final = lazy_re.compile(
    r"/etc/letsencrypt/(?:live|archive)/[^/]{1,255}/(?:cert|chain|fullchain)\d{0,4}\.pem\Z"
)
"""Elsewhere such a file may have the key in it."""
PUBLIC_FOLDERS: Final = ("/etc/", "/usr/", "/lib", "/var/lib/", "/System/", "/opt/", "/tmp/", "/var/tmp/", "/nix/")  # noqa: S108 - names

_SECRET_NAMES: Final = word_set(
    "id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk identity .env .envrc .netrc .pgpass .npmrc .pypirc "
    ".git-credentials "
    ".htpasswd wallet.dat key4.db logins.json login.keychain login.keychain-db cookies.sqlite auth-profiles.json master.key "
    "kubeconfig shadow.bak ntds.dit .dockercfg .vault-token .terraformrc secring.gpg"
)
_SECRET_ENDS: Final = (
    ".pem", ".key", ".p12", ".pfx", ".keystore", ".jks", ".kdbx", ".ppk", ".keytab", ".ovpn", ".env", "_rsa", "_ed25519",
)  # fmt: skip
_SECRET_GLOBS: Final = ("*.pem", "*.key", "*.kdbx", "*.env", "*.ppk")
_PUBLIC_PARTS: Final = ("cert", "chain", "ca.", "ca-", "pub", "example", "sample", "template", "bundle")
_ENV_FILES: Final = lazy_re.compile(r"\.env\.(?!example|sample|template|dist|tmpl|schema|defaults?\Z|test\Z)[\w.-]{1,40}\Z")


class SecretNames(NamedTuple):
    """The names by which a file is a secret wherever it is. See `is_secret_name`."""

    names: frozenset[str]
    ends: tuple[str, ...]
    globs: tuple[str, ...]
    public_parts: tuple[str, ...]
    env_files: str


def secret_names() -> SecretNames:
    """The names as data."""
    return SecretNames(_SECRET_NAMES, _SECRET_ENDS, _SECRET_GLOBS, _PUBLIC_PARTS, _ENV_FILES.pattern)


def is_secret_name(last: str) -> bool:
    """Whether a file of this name holds a secret wherever it is."""
    last = folded(last)
    if last in _SECRET_NAMES:
        return True
    if last.endswith(_SECRET_ENDS):
        return last in _SECRET_GLOBS or (last[0] not in ".*" and not any(part in last for part in _PUBLIC_PARTS))
    return last.startswith(".env.") and _ENV_FILES.match(last) is not None


HIDDEN_IN_HOME: Final = (
    ".ssh/id_rsa", ".ssh/id_ed25519", ".ssh/authorized_keys", ".ssh", ".aws/credentials", ".aws", ".gnupg",
    ".kube/config", ".netrc",
    ".bashrc", ".zshrc", ".profile", ".bash_profile", ".git-credentials", ".docker/config.json", ".npmrc", ".pgpass",
    ".password-store",
    ".bash_history", ".zsh_history", "Library/Keychains", ".config/gcloud",
)  # fmt: skip
HIDDEN_IN_ROOT: Final = (
    "etc/shadow", "etc/sudoers", "etc/passwd", "etc/ssh", "etc/cron.d", "etc", "usr", "home", "var", "bin", "boot", "lib",
    "opt", "root", "sbin",
    "dev/sda", "dev/nvme0n1", "dev/mem", "Users", "System", "Library",
)  # fmt: skip
MOST_HIDDEN_PARTS: Final = 1 + max(name.count("/") for name in (*HIDDEN_IN_HOME, *HIDDEN_IN_ROOT))
