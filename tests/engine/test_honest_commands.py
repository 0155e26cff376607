"""Ordinary work: none of it is blocked for good, and the guard's protection of itself lets it through."""

from __future__ import annotations

import pytest

from toolguard_engine.config.settings import Config
from toolguard_engine.guard import Guard
from toolguard_engine.layers import self_protection
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs
from toolguard_engine.server import tool_hints

HOST = Host(
    "/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json", ("/opt/tg/plugin",), frozenset({4242, 4243}),
    "/home/u/.openclaw/metrics.db", "127.0.0.1:18787",
)  # fmt: skip
WORKSPACE = "/home/u/.openclaw/workspace"

DOT_FILES = """
tar -czf x.tgz .[^.]* ..?* *
tar czf backup.tgz .[!.]* *
tar -cf all.tar --exclude=.git .[a-z]* src
rm -f ../?.log
rm -f ../??.tmp
cp ../?*.txt .
cp ../*.md docs/
mv ../?ackage.json .
ls -d .*
ls -la .[^.]*
ls -d .??*
du -sh .[!.]* *
du -sh ~/.[!.]*
du -sh ~/.*/
cp .env.example .env
cp -r .github .gitlab ../other/
cp .*rc dotfiles/
rm -rf .next .turbo .cache
rm -rf .pytest_cache .mypy_cache .ruff_cache
rm -f .*.swp .*.swo
rm -f .DS_Store ._*
find . -name '.*.swp' -delete
find . -name '.DS_Store' -delete
find . -maxdepth 1 -name '.*' -print
find . -path ./.git -prune -o -name '*.py' -print
chmod 644 .[a-z]*
chmod +x .husky/*
git add .github .gitignore
git add -A .
git add .[a-z]*
git clean -fdX
git check-ignore .*
git rm --cached .env
rsync -a .vscode ../template/
rsync -a --exclude '.*' ./ ../mirror/
zip -r site.zip . -x '.*'
zip -r site.zip public .htaccess
cat .gitignore .dockerignore
cat .[a-z]*rc
cat ../?eadme.md
grep -rn TODO .github .circleci
grep -l foo .[a-z]*
wc -l .*ignore
for f in .*rc; do echo $f; done
for f in .[a-z]*; do wc -c "$f"; done
stow -t ~ zsh
ls ~/.config/*
ls ~/.??*
ls -a ~ | grep '^\\.'
diff .prettierrc ../web/.prettierrc
sort .[a-z]*ignore | uniq
sed -i s/a/b/ .env.[a-z]*
touch .nojekyll ..data
head -n 3 ..?*
echo .* *
""".strip().splitlines()

OWN_SERVERS = """
pkill -f vite
pkill -f 'npm run dashboard'
pkill -f dashboard
pkill -f notify-send
pkill -f 'next dev'
pkill -f webpack
pkill -f 'npm run dev'
pkill -f 'python app.py'
pkill -f 'manage.py runserver'
pkill -f uvicorn
pkill -f gunicorn
pkill -f 'rails server'
pkill -f storybook
pkill -f playwright
pkill -f esbuild
pkill -f 'node server.js'
pkill -f 'flask run'
pkill -f http.server
pkill -f celery
pkill -f jupyter
pkill -f tsserver
pkill -f metro
pkill nginx
pkill chrome
pkill redis-server
pkill nodemon
pkill -9 -f jest
pkill -x postgres
pkill -INT -f 'cargo watch'
pkill -HUP nginx
pkill -u www-data php-fpm
killall chromium
killall -q hugo
killall nodemon
killall java
killall -9 redis-server
kill 1234
kill -9 1234 1235
kill %1
kill %vite
kill $!
kill "$SERVER_PID"
kill $(cat server.pid)
kill -TERM $(cat /tmp/app.pid)
kill -0 "$PID"
kill -USR1 1234
kill $(pgrep -f server.py)
kill $(pgrep -f 'next dev')
kill $(lsof -ti:3000)
kill -9 $(lsof -t -i:5173)
kill $(lsof -ti tcp:8000)
lsof -ti:8080 | xargs kill -9
lsof -ti:3000,3001 | xargs -r kill
fuser -k 3000/tcp
fuser -k 8080/tcp 8081/tcp
npx kill-port 3000
npx kill-port 5173 4173
ss -ltnp | grep 3000
ps aux | grep vite | awk '{print $2}' | xargs kill
ps aux | grep 'python app.py' | grep -v grep | awk '{print $2}' | xargs -r kill
ps -ef | awk '/webpack/{print $2}' | xargs kill
ps aux | grep node
pgrep -fl node
pgrep -af python
pgrep -c engine
top -b -n 1 | head
timeout 10 npm run dev
npm run dev & sleep 5; kill $!
python3 -m http.server 8000 & PID=$!; sleep 2; kill $PID
trap 'kill $PID' EXIT; node server.js & PID=$!; npm test
docker stop web
docker kill db
docker compose down
docker compose restart web
docker exec db pkill -HUP postgres
docker exec box rm -rf /tmp/build
docker rm -f web
pm2 stop api
pm2 restart all
systemctl --user restart syncthing
sudo systemctl stop nginx
sudo systemctl restart postgresql
service redis stop
supervisorctl stop worker
launchctl unload ~/Library/LaunchAgents/com.example.app.plist
python3 -c "import os, signal; os.kill(1234, signal.SIGTERM)"
node -e "process.kill(1234)"
tmux kill-session -t dev
screen -S dev -X quit
screen -S dev -X stuff 'npm test\\n'
screen -S dev -p 0 -X stuff "make && ls -la^M"
screen -S minecraft -X stuff "say The server restarts in 5 minutes^M"
screen -S dev -X stuff $'\\003'
screen -S dev -X eval 'stuff "npm run build\\015"'
screen -S dev -X hardcopy /tmp/out.txt
""".strip().splitlines()

READS = """
ls ~/.openclaw
ls -la ~/.openclaw
ls -la ~/.openclaw/toolguard
ls ~/.openclaw/*
ls ~/.openclaw/agents/main/sessions
cat ~/.openclaw/openclaw.json
jq . ~/.openclaw/openclaw.json
jq '.agents.defaults.model' ~/.openclaw/openclaw.json
yq .agents ~/.openclaw/openclaw.json
awk '/model/' ~/.openclaw/openclaw.json
sha256sum ~/.openclaw/openclaw.json
md5sum ~/.openclaw/openclaw.json
stat ~/.openclaw/openclaw.json
wc -l ~/.openclaw/openclaw.json
grep -n model ~/.openclaw/openclaw.json
head -n 40 ~/.openclaw/openclaw.json
diff ~/.openclaw/openclaw.json ~/.openclaw/openclaw.json.bak
tail -n 50 ~/.openclaw/tool-guard.log
tail -f ~/.openclaw/tool-guard.log
grep read ~/.openclaw/tool-guard.log
tail -n 20 ~/.openclaw/toolguard/audit.jsonl
jq -r .code ~/.openclaw/toolguard/audit.jsonl
cat ~/.openclaw/logs/gateway.log
tail -n 100 ~/.openclaw/logs/gateway.log | grep -i error
grep -c 'rate limit' ~/.openclaw/logs/*.log
less ~/.openclaw/logs/gateway.err.log
find ~/.openclaw/logs -name '*.log' -mtime -1
ls -lt ~/.openclaw/logs | head
du -sh ~/.openclaw
du -sh ~/.openclaw/*
wc -l ~/.openclaw/agents/main/sessions/*.jsonl
tail -n 5 ~/.openclaw/agents/main/sessions/abc.jsonl
cat ~/.openclaw/workspace/AGENTS.md
cat ~/.openclaw/cron/jobs.json
tar -C ~/.openclaw -czf /tmp/ws.tgz workspace
tar -C ~/.openclaw -cf - workspace | gzip > /tmp/ws.tgz
tar czf ~/ws.tgz ~/.openclaw/workspace
cp -r ~/.openclaw/workspace /tmp/ws
rsync -a ~/.openclaw/workspace/ ~/backup/ws/
zip -r ws.zip ~/.openclaw/workspace
rm -rf ~/.openclaw/workspace/build
cd ~/.openclaw/workspace && git status
cd ~/.openclaw && ls
git -C ~/.openclaw/workspace log --oneline
journalctl --user -u openclaw-gateway -n 50
systemctl --user status openclaw-gateway
openclaw status
openclaw --version
openclaw logs --help
openclaw config get agents.defaults.model
toolguard status
toolguard doctor
toolguard pending
toolguard audit show
python3 -c "print('toolguard approve abcd')"
node -e "console.log('pkill openclaw')"
echo 'pkill -f toolguard_engine'
mail -s 'toolguard disabled' me
openclaw agent -m 'toolguard was disabled yesterday'
git commit -m 'docs: toolguard approve and openclaw gateway stop'
grep -rn 'openclaw gateway stop' docs
""".strip().splitlines()

BACKUPS = """
tar czf /mnt/b/home.tgz --exclude=.openclaw ~
tar --exclude='.openclaw' --exclude='.cache' -czf /mnt/b/home.tgz ~
tar -czf /mnt/b/home.tgz --exclude ~/.openclaw /home/u
rsync -a --exclude .openclaw ~/ /mnt/b/home/
rsync -a --exclude='.openclaw/' --exclude='.cache/' ~/ nas:home/
zip -r /mnt/b/home.zip ~ -x '*/.openclaw/*'
restic backup ~ --exclude ~/.openclaw
borg create /mnt/b::home ~ --exclude '*/.openclaw'
duplicity --exclude ~/.openclaw ~ file:///mnt/b
tar czf docs.tgz ~/Documents
rsync -a ~/Pictures/ /mnt/b/pictures/
""".strip().splitlines()

AT_MOST_HELD = """
pkill node
killall node
killall python3
pkill -f engine
pkill -f dist
pkill -f index.js
kill $(lsof -ti:19000)
fuser -k 19001/tcp
npx kill-port 19006
docker exec box rm -rf /root/.openclaw/workspace/tmp
ssh vm 'openclaw config patch --dry-run'
ssh vm 'systemctl --user restart openclaw-gateway'
docker logs openclaw
docker restart openclaw
restic backup ~
""".strip().splitlines()
"""What may hit the guard, or another one elsewhere: a person decides."""

NEAR_THE_GATEWAY = r"""
cp a.json ~/.openclaw/skills/x/package.json
git clone https://example.org/a.git ~/.openclaw/skills/a
git clone https://example.org/a.git vendor/extensions
tar -xf a.tar -C extensions
unzip a.zip -d hooks
cd hooks && git pull
cp -r x ../workspace/extensions/
cat ../hooks/a.js
ls -la ~/.openclaw/cron
jq . ../cron/jobs.json
tar -czf /tmp/b.tgz ../hooks
python3 -c "print(open('../cron/jobs.json').read())"
awk '{print $1}' ../cron/jobs.json
npm root -g
npm i -g typescript@5
npm i openclaw@2026.1.1 --save-dev
cd ~/src/plugin && npm i openclaw@2026.1.1
cd /tmp/x && npm i openclaw@2026.1.1
yarn add openclaw
mise use node@24
brew install gh
$(which openclaw) status
cat $(npm root -g)/openclaw/package.json | jq .version
node -p "require('$(npm root -g)/openclaw/package.json').version"
export PATH=$(npm prefix -g)/bin:$PATH
find ~/work -name '*.py' > l; tar -czf x.tgz -T l
git diff --name-only --diff-filter=d > l; xargs -a l eslint
find . -type f -print0 | du --files0-from=-
psql -c '\copy t to out.csv csv'
less -o out.log a.log
GIT_PAGER=cat git log
docker exec web rm -rf /app/node_modules
docker exec -it gw ls /root/.openclaw
docker compose exec web npm i openclaw
systemctl --user import-environment DISPLAY
dbus-update-activation-environment --systemd WAYLAND_DISPLAY XDG_CURRENT_DESKTOP=sway
tmux new -d -s dev 'npm run dev'
tmux send-keys -t dev 'npm test' Enter
ssh -L 8080:localhost:80 box
""".strip().splitlines()

HONEST = [*DOT_FILES, *OWN_SERVERS, *READS, *BACKUPS, *NEAR_THE_GATEWAY]


@pytest.fixture(scope="module")
def guard() -> Guard:
    return Guard(Config(), tool_hints.load(), HOST, packs.load())


def of(command: str) -> Call:
    return Call("exec", {"command": command}, cwd=WORKSPACE)


def test_there_are_two_hundred_of_them() -> None:
    assert len(set(HONEST)) >= 200


def test_the_guard_s_protection_of_itself_lets_honest_work_through() -> None:
    assert [command for command in HONEST if self_protection.judge(of(command), HOST) is not None] == []


def test_no_honest_command_is_blocked_for_good(guard: Guard) -> None:
    assert [command for command in [*HONEST, *AT_MOST_HELD] if guard.weigh(of(command)).decision == "block"] == []


@pytest.mark.parametrize("command", ["pkill node", "killall node", "pkill -f engine"])
def test_who_is_asked_learns_how_to_aim(command: str) -> None:
    verdict = self_protection.judge(of(command), HOST)
    assert verdict is not None
    assert "pkill -f vite" in verdict.reason
