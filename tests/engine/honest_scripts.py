"""Long commands and scripts as people and agents write them for builds, deployments and data work: made from tables.

None of them does harm. They differ in their names, numbers, order and form: one command line, a script that is written and
run, a script for `bash -s`, a container or another machine, code of Python or Node in a here-document.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

SIZES = (1_000, 1_500, 2_000, 3_000, 5_000, 8_000, 12_000, 16_000, 20_000)

NOUNS = (
    "orders", "billing", "search", "catalog", "users", "reports", "gateway", "mailer", "worker", "invoices", "stock",
    "prices", "sessions", "events", "metrics", "labels", "returns", "carts", "images", "docs",
)  # fmt: skip
FOLDERS = ("src", "lib", "packages", "services", "apps", "tools", "internal", "cmd", "data", "build")

BUILD = """\
mkdir -p build/{noun} dist/{noun}
cp config/{noun}.json build/{noun}/config.json
npm ci --prefix packages/{noun} --no-audit --no-fund
npm run build --prefix packages/{noun} -- --mode production --out-dir dist/{noun}
npx tsc -p packages/{noun}/tsconfig.json --noEmit
npx eslint packages/{noun}/src --ext .ts,.tsx --max-warnings 0 | tee build/{noun}/lint.txt
npm test --prefix packages/{noun} -- --reporter=dot --coverage 2>&1 | tail -n {number}
cargo build --release --package {noun} --features "json,{other}" 2>&1 | tail -n 20
cargo test --package {noun} --lib -- --test-threads={small}
go build -trimpath -o dist/{noun}/{noun} ./cmd/{noun}
go vet ./internal/{noun}/... && go test -count=1 -short ./internal/{noun}/...
make -C services/{noun} -j{small} VERSION="$VERSION" all
cmake -S lib/{noun} -B build/{noun} -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF
cmake --build build/{noun} --parallel {small}
python3 -m build --wheel --outdir dist/{noun} packages/{noun}
python3 -m pytest -q tests/{noun} -k "not slow and not {other}" --maxfail={small}
ruff check packages/{noun} && ruff format --check packages/{noun}
mypy --strict packages/{noun}/src
./gradlew :{noun}:assemble :{noun}:check --console=plain
tar -czf dist/{noun}-$VERSION.tar.gz -C build/{noun} .
sha256sum dist/{noun}-$VERSION.tar.gz > dist/{noun}-$VERSION.sha256
test -s dist/{noun}/index.js || echo "no bundle for {noun}" >> build/warnings.txt
if [ ! -d node_modules/.cache/{noun} ]; then mkdir -p node_modules/.cache/{noun}; fi
for f in packages/{noun}/src/*.proto; do protoc --ts_out=build/{noun} "$f"; done
git diff --stat HEAD~{small} -- packages/{noun} | tail -n 1
sed -e "s/@VERSION@/$VERSION/" templates/{noun}.in > build/{noun}/version.txt
printf '%s %s\\n' "{noun}" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >> build/log.txt
echo "built {noun} with {number} modules"
"""
DEPLOY = """\
docker build --pull -t registry.example.test/{noun}:"$VERSION" -f services/{noun}/Dockerfile services/{noun}
docker image inspect registry.example.test/{noun}:"$VERSION" --format '{{{{.Size}}}}'
docker compose -f deploy/{noun}.yml config --quiet
kubectl --context staging -n {noun} get pods -o wide
kubectl --context staging -n {noun} get deployment {noun} -o jsonpath='{{.status.readyReplicas}}'
kubectl --context staging -n {noun} logs deployment/{noun} --tail={number} | grep -c ERROR || true
kubectl --context staging -n {noun} describe service {noun} | sed -n '1,{number}p'
helm template {noun} charts/{noun} --values charts/{noun}/staging.yaml --set image.tag="$VERSION" > build/{noun}.yaml
helm lint charts/{noun} --strict
terraform -chdir=infra/{noun} validate -no-color
terraform -chdir=infra/{noun} fmt -check -diff
curl -fsS --max-time 5 https://{noun}.staging.example.test/healthz | jq -r .status
for i in 1 2 3 4 5; do curl -fsS https://{noun}.staging.example.test/ready && break; sleep {small}; done
if ! grep -q "tag: $VERSION" charts/{noun}/staging.yaml; then echo "{noun}: tag is old"; fi
yq '.image.tag' charts/{noun}/staging.yaml
aws s3 ls s3://example-artifacts/{noun}/ --summarize | tail -n 2
gh run list --workflow {noun}.yml --limit {small} --json status,conclusion --jq '.[].conclusion'
git log --oneline -n {small} -- services/{noun} charts/{noun}
git tag --list "{noun}-v*" --sort=-creatordate | head -n {small}
dig +short {noun}.staging.example.test
openssl x509 -in build/{noun}.pem -noout -enddate
awk -F= '/^{noun}_/ {{print $2}}' deploy/ports.env
test "$(jq -r .replicas deploy/{noun}.json)" -ge {small} || echo "{noun}: too few replicas"
echo "{noun}: looked at version $VERSION" | tee -a build/deploy.log
cp deploy/{noun}.json build/{noun}-before.json && diff -u build/{noun}-before.json deploy/{noun}.json || true
systemctl --user status {noun} --no-pager | head -n 5
"""
DATA = """\
head -n {number} data/{noun}.csv | cut -d, -f1,3,{small} | sort -u > build/{noun}-head.csv
wc -l data/{noun}*.csv | tail -n 1
awk -F, 'NR > 1 && ${small} > {number} {{ total += ${small} }} END {{ printf "%.2f\\n", total }}' data/{noun}.csv
sort -t, -k{small},{small}n data/{noun}.csv | uniq -c | sort -rn | head -n {number}
jq -c '.[] | select(.state == "open") | {{id, {noun}: .name, count: {number}}}' data/{noun}.json > build/{noun}.ndjson
zcat data/{noun}-2024-0{small}.log.gz | grep -v DEBUG | sed -E 's/[0-9]{{4}}-[0-9]{{2}}/DATE/' | head -n {number}
sqlite3 data/{noun}.db "select count(*), max(updated_at) from {noun} where state = 'done'"
psql "$DATABASE_URL" -c "select id, name from {noun} order by id desc limit {number}" -o build/{noun}.txt
duckdb -csv -c "select region, sum(amount) from read_csv('data/{noun}.csv') group by region order by 2 desc"
python3 tools/convert.py --input data/{noun}.csv --output build/{noun}.parquet --rows {number}
paste -d, build/{noun}-head.csv build/{other}-head.csv | column -t -s, | head -n {number}
join -t, -1 1 -2 1 build/{noun}-head.csv build/{other}-head.csv > build/{noun}-{other}.csv
comm -12 build/{noun}-head.csv build/{other}-head.csv | wc -l
find data -name '{noun}-*.csv' -newer build/stamp -size +{number}k -print | sort | head -n {small}
xsv stats data/{noun}.csv | xsv table | head -n {number}
csvcut -c id,name,amount data/{noun}.csv | csvsort -c amount -r | head -n {number}
while IFS=, read -r id name amount; do printf '%s: %s\\n' "$name" "$amount"; done < build/{noun}-head.csv
for month in 01 02 03 04 05 06; do grep -c "2024-$month" data/{noun}.csv || true; done
split -l {number}00 -d data/{noun}.csv build/{noun}-part-
gzip -k -{small} build/{noun}.ndjson && ls -l build/{noun}.ndjson.gz
curl -fsS "https://data.example.test/{noun}?page={small}&limit={number}" -o build/{noun}-page.json
tr -d '\\r' < data/{noun}.csv > build/{noun}-unix.csv
case "$MODE" in full) echo "all of {noun}" ;; part) echo "{number} of {noun}" ;; *) echo "none" ;; esac
du -sh data/{noun} build | sort -h
touch build/stamp
date -u +"{noun} %F %T" >> build/data.log
"""
NOTES = """\
# {noun}: everything that belongs to {other} comes first
# see docs/{noun}.md, section {small}
# TODO: drop the second pass when {other} is done

"""
FUNCTION = """\
step_{noun}_{number}() {{
  local name="$1" count="${{2:-{small}}}"
  echo "==> $name ($count)"
  {line}
  {more}
}}
step_{noun}_{number} "{noun}" {small}
"""
BRANCH = """\
if [ "$MODE" = "full" ] && [ -f config/{noun}.json ]; then
  {line}
  {more}
else
  echo "skipping {noun}"
fi
"""
LOOP = """\
for name in {noun} {other} shared; do
  echo "$name: $(git log -1 --format=%h -- "packages/$name")" >> build/state.txt
  {line}
done
"""
WRITTEN = """\
cat > build/{noun}.yml <<'YAML'
name: {noun}
replicas: {small}
limits:
  cpu: {number}m
  memory: {number}Mi
env:
  - name: MODE
    value: full
  - name: UPSTREAM
    value: https://{other}.example.test/v{small}
YAML
"""
PYTHON = """\
def load_{noun}_{number}(path="data/{noun}.csv"):
    with open(path, newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.get("state") != "void"]
    return rows[:{number}]


def total_{noun}_{number}(rows):
    by_region = defaultdict(float)
    for row in rows:
        by_region[row["region"].strip().lower()] += float(row["amount"] or 0) * {small}
    return dict(sorted(by_region.items(), key=lambda each: -each[1]))


totals = total_{noun}_{number}(load_{noun}_{number}())
print(f"{noun}: {{len(totals)}} regions, {{sum(totals.values()):.2f}}")
with open("build/{noun}-{number}.json", "w") as out:
    json.dump(totals, out, indent={small})
"""
NODE = """\
const {noun}{number} = JSON.parse(fs.readFileSync('data/{noun}.json', 'utf8'));
const open{number} = {noun}{number}.filter((each) => each.state === 'open' && each.count > {small});
for (const each of open{number}.slice(0, {number})) {{
  each.label = `${{each.name}} (${{each.count}})`;
}}
console.log('{noun}', open{number}.length, open{number}.map((each) => each.label).join(', '));
fs.writeFileSync('build/{noun}-{number}.json', JSON.stringify(open{number}, null, {small}));
"""
DOMAINS = {"build": BUILD, "deployment": DEPLOY, "data": DATA}


class Author:
    """Writes one text after the other; the same ones in every run."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311 - not a secret

    def script(self, domain: str, size: int) -> str:
        """Lines of one domain, some of them in functions, branches and loops."""
        text = 'set -euo pipefail\nVERSION="${VERSION:-1.4.0}"\nMODE="${MODE:-full}"\n'
        text += "cd /home/u/work/project\n" if self._chance.random() < 0.5 else ""
        lines = DOMAINS[domain].splitlines()
        while len(text) < size:
            form = self._chance.choice([None, None, None, None, NOTES, FUNCTION, BRANCH, LOOP, WRITTEN])
            if form is None:
                text += self._filled(self._chance.choice(lines)) + "\n"
            else:
                line, more = self._chance.sample([each for each in lines if "'" not in each], 2)
                text += self._filled(form.replace("{line}", line).replace("{more}", more))
        return text

    def line(self, domain: str, size: int) -> str:
        """The same as one command line."""
        lines, text = DOMAINS[domain].splitlines(), "cd /home/u/work/project"
        while len(text) < size:
            text += self._chance.choice([" && ", " && ", "; "]) + self._filled(self._chance.choice(lines))
        return text

    def code(self, piece: str, size: int) -> str:
        text = ""
        while len(text) < size:
            text += self._filled(piece) + "\n"
        return text

    def _filled(self, line: str) -> str:
        noun, other = self._chance.sample(NOUNS, 2)
        return line.format(
            noun=noun, other=other, number=self._chance.randrange(10, 500), small=self._chance.randrange(2, 9)
        )


def _python(author: Author, _: str, size: int) -> str:
    head = "import csv\nimport json\nfrom collections import defaultdict\n\n\n"
    return f"python3 - <<'PY'\n{head}{author.code(PYTHON, size)}PY"


def _node(author: Author, _: str, size: int) -> str:
    return f"node - <<'JS'\nconst fs = require('fs');\n{author.code(NODE, size)}JS"


FORMS: dict[str, Callable[[Author, str, int], str]] = {
    "a command line": Author.line,
    "a script": Author.script,
    "a script that is written and run": lambda author, domain, size: (
        f"cat > build/{domain}.sh <<'SCRIPT'\n{author.script(domain, size)}SCRIPT\nbash build/{domain}.sh"
    ),
    "a script for bash -s": lambda author, domain, size: f"bash -s -- full <<'SCRIPT'\n{author.script(domain, size)}SCRIPT",
    "Python": _python,
    "Node": _node,
}


def scripts(count: int = 500) -> Iterator[tuple[str, str]]:
    """Names and texts: every form of every domain in every size in turn."""
    kinds = [(form, domain, size) for size in SIZES for form in FORMS for domain in DOMAINS]
    for number in range(count):
        form, domain, size = kinds[number % len(kinds)]
        yield f"{form}, {domain}, {size}, {number}", FORMS[form](Author(number), domain, size)
