"""Credentials in the home folder, and the programs that need them: each program opens a door to its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from toolguard_engine.effects.facts.place_names import HOME_SECRETS

KEYS = "keys:"
"""What the doors to credentials begin with."""

_OF_THE_GATEWAY = (".openclaw", ".clawdbot")

_OWNERS: Final[Mapping[str, str]] = {
    ".aws": "aws sam cdk eksctl terraform tofu pulumi packer aws-vault s5cmd",
    ".azure": "az azd terraform tofu pulumi",
    ".gnupg": "gpg gpg2 gpgsm gpgconf git pass gopass sops",
    ".password-store": "pass gopass",
    ".netrc": "curl wget git ftp heroku",
    "_netrc": "curl git",
    ".pgpass": "psql pg_dump pg_dumpall pg_restore createdb dropdb pgcli",
    ".my.cnf": "mysql mysqldump mysqladmin mariadb mycli",
    ".mylogin.cnf": "mysql mysqldump mysqladmin mariadb",
    ".npmrc": "npm npx pnpm pnpx yarn bun bunx corepack",
    ".pypirc": "twine uv poetry flit hatch",
    ".git-credentials": "git",
    ".s3cfg": "s3cmd",
    ".boto": "gsutil boto aws",
    ".vault-token": "vault",
    ".vault_pass": "ansible ansible-playbook ansible-vault",
    ".rclone.conf": "rclone",
    ".kube": "kubectl helm k9s kustomize kubectx kubens flux argocd istioctl stern skaffold minikube kind k3d tilt",
    ".docker": "docker docker-compose podman buildah skopeo nerdctl crane",
    ".dockercfg": "docker",
    ".cargo": "cargo",
    ".gem": "gem bundle rake",
    ".terraform.d": "terraform tofu",
    ".fly": "fly flyctl",
    ".snowsql": "snowsql",
    ".m2": "mvn mvnw",
    ".gradle": "gradle gradlew",
    ".composer": "composer",
    ".kaggle": "kaggle",
    ".huggingface": "hf huggingface-cli",
    ".claude": "claude",
    ".codex": "codex",
    ".gemini": "gemini",
    ".oci": "oci",
    ".minikube": "minikube kubectl",
    ".databrickscfg": "databricks",
    ".chef": "chef knife",
    ".mozilla": "firefox",
    ".thunderbird": "thunderbird",
    ".pki": "chromium google-chrome chrome certutil",
}

_IN_CONFIG: Final[Mapping[str, str]] = {
    "gcloud": "gcloud gsutil bq terraform tofu",
    "gh/hosts": "gh git",
    "hub": "hub",
    "git/credentials": "git",
    "op/": "op",
    "google-chrome": "google-chrome",
    "chromium": "chromium chromium-browser",
    "rclone/rclone.conf": "rclone",
    "doctl": "doctl",
    "netlify": "netlify",
    "stripe": "stripe",
    "glab-cli": "glab git",
    "heroku": "heroku",
    "hcloud": "hcloud",
    "sops": "sops",
    "age": "age sops",
    "composer/auth": "composer",
    "containers/auth.json": "podman buildah skopeo",
    "pulumi": "pulumi",
    "vercel": "vercel",
    "wrangler": "wrangler",
    "github-copilot": "copilot",
}

_SSH: Final = "ssh scp sftp git rsync ssh-add ssh-keygen ssh-copy-id mosh ansible ansible-playbook autossh sshfs rclone"
_SSH_SHOWN: Final = ("known_hosts", "known_hosts.old", "config")
_ENDS: Final[Mapping[str, str]] = {"gh/hosts": "gh/hosts.yml", "op/": "op", "git/credentials": "git/credentials"}
"""Names that begin several files, or end with a slash, as the one path that matters."""


def places(home: str) -> Iterator[tuple[str, str]]:
    """(door, path) of what is hidden."""
    yield f"{KEYS}.ssh", f"{home}/.ssh"
    for first, inner in HOME_SECRETS.items():
        if first in _OF_THE_GATEWAY or first == "Library":
            continue
        for name in inner or ("",):
            yield _door(first, name), f"{home}/{first}/{_ENDS.get(name, name)}".rstrip("/")


def shown(home: str) -> Iterator[tuple[str, str]]:
    """(door of what hides it, path): not secret, and read by every program that connects somewhere."""
    yield from ((f"{KEYS}.ssh", f"{home}/.ssh/{name}") for name in _SSH_SHOWN)


def owners() -> frozenset[str]:
    """All programs that have credentials of their own."""
    listed = (_SSH, *_OWNERS.values(), *_IN_CONFIG.values())
    return frozenset(name for names in listed for name in names.split())


def opened_by(program: str) -> Iterator[str]:
    """The doors to the credentials that belong to a program."""
    if program in _SSH.split():
        yield f"{KEYS}.ssh"
    yield from (f"{KEYS}{first}" for first, owners in _OWNERS.items() if program in owners.split())
    yield from (f"{KEYS}.config/{name}" for name, owners in _IN_CONFIG.items() if program in owners.split())


def _door(first: str, name: str) -> str:
    return f"{KEYS}{first}/{name}" if first == ".config" else f"{KEYS}{first}"
