"""The fleet dashboard's API: what a person of one team sees and may do, and who is believed to be that person."""

from __future__ import annotations

import socket
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from fleet_database import FleetDatabase
from fleet_page import FleetPage, FleetPageProcess, PageVisitor, new_token
from fleet_scene import DELETES, FleetScene
from tables import each_row
from toolguard_cli.fleet.page_data import ENDPOINTS

PATHS = [each.path for each in ENDPOINTS if each.method == "GET"]
NOBODY = {"x-forwarded-user": "root"}


@pytest.fixture
def scene(database: FleetDatabase) -> FleetScene:
    return FleetScene(database)


@pytest.fixture
def page(scene: FleetScene) -> Iterator[FleetPage]:
    with FleetPage(scene.database) as running:
        yield running


def enter(scene: FleetScene, page: FleetPage, person: str) -> PageVisitor:
    return page.log_in(new_token(scene.owner, person))


def test_a_person_sees_only_the_own_teams(scene: FleetScene, page: FleetPage) -> None:
    own, foreign = scene.hold("ops", "exec", "ls own"), scene.hold("web", "exec", "ls foreign")
    scene.decide("root", "web", scene.hold("web", "exec", "ls closed"), "denied")
    scene.log("web", {"event": "hold", "agent": "foreign-agent"})
    scene.spend("web", 1.0, agent="foreign-agent")
    anna = enter(scene, page, "anna")
    seen = [anna.ask(path) for path in (*PATHS, "/api/costs?by=gateway", "/api/costs?by=agent", "/api/history?hours=2160")]
    assert [answer.status for answer in seen] == [200] * len(seen)
    text = b"".join(answer.data for answer in seen).decode()
    assert own in text
    hidden = (scene.gateways["web"].id, foreign, '"web"', "ls foreign", "ls closed", "foreign-agent")
    assert [part for part in hidden if part in text] == []
    everything = enter(scene, page, "root").get("/api/gateways")
    assert {each["team"] for each in everything["gateways"]} == {"ops", "web"}


@each_row(
    "query",
    [
        "team=web",
        "gateway={web}",
        "agent=foreign-agent",
        "event=hold",
        "team=' OR true --",
        'team="}} || pg_sleep(9)',
    ],
)
def test_filters_of_the_audit_search_open_nothing(scene: FleetScene, page: FleetPage, query: str) -> None:
    scene.log("web", {"event": "hold", "agent": "foreign-agent"})
    query = query.format(web=scene.gateways["web"].id).replace(" ", "%20").replace('"', "%22").replace("|", "%7C")
    answer = enter(scene, page, "anna").ask(f"/api/audit?{query}")
    assert (answer.status, answer.json) == (200, {"lines": []})


def test_the_audit_search_finds_and_pages(scene: FleetScene, page: FleetPage) -> None:
    scene.log("ops", *({"event": "hold", "agent": f"a{number % 2}"} for number in range(120)))
    anna = enter(scene, page, "anna")
    first = anna.get("/api/audit")["lines"]
    rest = anna.get(f"/api/audit?before={first[-1]['number']}")["lines"]
    assert [each["seq"] for each in (*first, *rest)] == list(range(120, 0, -1))
    assert {each["seq"] % 2 for each in anna.get("/api/audit?agent=a1")["lines"]} == {0}


def test_a_call_with_everything_about_it(scene: FleetScene, page: FleetPage) -> None:
    nonce = scene.hold("ops", "exec", "rm -r /srv", details=DELETES, need=2, requester="anna")
    scene.decide("bert", "ops", nonce)
    found = enter(scene, page, "anna").get("/api/calls")
    call = found["calls"][0]
    assert (found["all"], call["tool"], call["shown"], call["whole"], call["need"]) == (1, "exec", "rm -r /srv", True, 2)
    assert (call["would"], call["rules"]) == (
        [
            "deletes a folder with all that is in it",
            "deletes /srv/releases/* (with everything in it)",
            "writes /srv/current",
        ],
        ["files.delete-recursive"],
    )
    assert call["view"]["title"] == "3 dangers"
    assert [(each["approver"], each["verdict"]) for each in call["decisions"]] == [("bert", "approved")]
    assert (call["mayApprove"], call["may"]) == (["bert", "root"], False), (
        "the person who requested a call cannot approve it"
    )
    assert call["command"] == f"toolguard fleet approve {nonce} --gateway {scene.gateways['ops'].id}"
    assert "signature" not in str(found)


@pytest.mark.thorough
def test_entries_that_are_no_held_calls_and_huge_ones_are_bounded(scene: FleetScene, page: FleetPage) -> None:
    scene.caller("ops").present("junk", entry=b"\xff\xfe{not json")
    for number in range(110):
        scene.hold("ops", "exec", "x" * 200_000, binding=f"large {number}", session=f"s{number}")
    answer = enter(scene, page, "anna").ask("/api/calls")
    found = answer.json
    assert (found["all"], len(found["calls"])) == (111, 100)
    assert len(answer.data) < 4_000_000
    assert [found["calls"][0][name] for name in ("readable", "whole")] == [False, False]
    assert {len(each["shown"]) for each in found["calls"][1:10]} == {20_000}
    assert not any(each["whole"] for each in found["calls"])


def test_a_denial_counts_at_the_gateway(scene: FleetScene, page: FleetPage) -> None:
    nonce = scene.hold("ops", "exec", "rm x")
    body = {"gateway": scene.gateways["ops"].id, "nonce": nonce, "why": "no"}
    anna = enter(scene, page, "anna")
    assert anna.ask("/api/deny", body).status == 200
    assert scene.caller("ops").present("rm x")["outcome"] == "denied"
    assert (anna.ask("/api/deny", body).status, anna.ask("/api/deny", body).code) == (409, "denied")
    closed = anna.get("/api/history")["calls"][0]
    assert (closed["nonce"], closed["status"], closed["by"], closed["why"]) == (nonce, "denied", "anna", "no")


def test_an_approval_that_its_gateway_rejected_is_not_shown_as_one_that_ran(scene: FleetScene, page: FleetPage) -> None:
    nonces = [scene.hold("ops", "exec", command) for command in ("rm x", "rm y")]
    for nonce, command in zip(nonces, ("rm x", "rm y"), strict=True):
        scene.decide("anna", "ops", nonce)
        scene.use("ops", command)
    scene.log(
        "ops",
        {"event": "forged", "nonce": nonces[0], "why": "no valid\x1bsignature"},
        {"event": "consume", "nonce": nonces[1]},
    )
    scene.log("web", {"event": "forged", "nonce": nonces[1], "why": "of another gateway"})
    for person in ("anna", "bert"):
        calls = enter(scene, page, person).get("/api/history")["calls"]
        found = {each["nonce"]: (each["status"], each["rejected"]) for each in calls}
        assert found == {nonces[0]: ("used", "no valid<U+001B>signature"), nonces[1]: ("used", "")}


def test_nobody_decides_for_another_team_or_as_a_viewer(scene: FleetScene, page: FleetPage) -> None:
    nonce = scene.hold("web", "exec", "rm x")
    body = {"gateway": scene.gateways["web"].id, "nonce": nonce}
    anna, carla = enter(scene, page, "anna"), enter(scene, page, "carla")
    refused = [anna.ask("/api/deny", body), anna.ask("/api/deny", {**body, "nonce": "0" * 12}), carla.ask("/api/deny", body)]
    assert [(answer.status, answer.code) for answer in refused] == [(409, "unknown"), (409, "unknown"), (403, "role")]
    assert refused[0].data == refused[1].data, "a foreign call is refused like one that never was"
    stops = [
        anna.ask("/api/kill", {"team": "web", "on": True}),
        anna.ask("/api/kill", {"team": "*", "on": True}),
        carla.ask("/api/kill", {"team": "web", "on": True}),
    ]
    assert [answer.status for answer in stops] == [403] * 3
    assert scene.caller("web").sync()["kill"] is False


def test_an_approver_stops_a_team_and_an_admin_lets_it_work(scene: FleetScene, page: FleetPage) -> None:
    anna, root = enter(scene, page, "anna"), enter(scene, page, "root")
    assert anna.ask("/api/kill", {"team": "ops", "on": True, "why": "odd mails"}).status == 200
    state = scene.caller("ops").sync()
    assert (state["kill"], state["kill_why"], state["kill_by"]) == (True, "odd mails", "anna")
    assert (anna.ask("/api/kill", {"team": "ops", "on": False}).status, scene.caller("ops").sync()["kill"]) == (403, True)
    assert root.ask("/api/kill", {"team": "ops", "on": False}).status == 200
    assert scene.caller("ops").sync()["kill"] is False


def test_the_history_goes_on_where_it_ended(scene: FleetScene, page: FleetPage) -> None:
    nonces = [scene.hold("ops", "exec", f"rm {number}") for number in range(4)]
    for nonce in nonces:
        scene.decide("bert", "ops", nonce, "denied")
    scene.owner.execute(
        "UPDATE fleet.held_closed SET decided = decided - interval '1 s' * array_position(%s, nonce)", (nonces,)
    )
    anna = enter(scene, page, "anna")
    calls = anna.get("/api/history")["calls"]
    assert [each["nonce"] for each in calls] == nonces
    earlier = anna.get(f"/api/history?before={calls[1]['decided']}")["calls"]
    assert [each["nonce"] for each in earlier][-2:] == nonces[2:]
    assert nonces[0] not in {each["nonce"] for each in earlier}


def test_a_yes_cannot_be_given_here(scene: FleetScene, page: FleetPage) -> None:
    body = {"gateway": scene.gateways["ops"].id, "nonce": scene.hold("ops", "exec", "rm x"), "verdict": "approved"}
    answer = enter(scene, page, "anna").ask("/api/deny", body)
    assert (answer.status, answer.code) == (422, "values")
    assert scene.caller("ops").present("rm x")["outcome"] == "pending"


def test_nothing_without_a_person(scene: FleetScene, page: FleetPage) -> None:
    denial = {"gateway": scene.gateways["ops"].id, "nonce": "0" * 12}
    writes = [
        ("/api/deny", denial),
        ("/api/kill", {"team": "ops", "on": True}),
    ]
    for headers in ({}, NOBODY, {"authorization": "Bearer x"}, {"x-forwarded-for": "127.0.0.1"}):
        assert {page.ask(path, headers=headers).status for path in PATHS} == {401}, headers
        assert {page.ask(path, body, headers).status for path, body in writes} == {401}, headers
    assert page.ask("/").status == page.ask("/static/fleet.js").status == page.ask("/static/dom.js").status == 200
    assert page.ask("/static/../page_data.py").status == page.ask("/static/%2e%2e/page_data.py").status == 404


def test_a_monitor_learns_whether_the_page_works(scene: FleetScene, page: FleetPage) -> None:
    answer = page.ask("/healthz")
    assert (answer.status, answer.json["status"]) == (200, "ok")
    scene.owner.execute("REVOKE EXECUTE ON FUNCTION fleet.schema_version FROM toolguard_page")
    answer = page.ask("/healthz")
    assert answer.status in (502, 503)
    assert "error" in answer.json


def test_prometheus_reads_what_a_token_may_know(scene: FleetScene, page: FleetPage) -> None:
    scene.hold("ops", "exec", "rm -r /srv")
    scene.hold("web", "exec", "rm -r /www")
    ops, web = scene.gateways["ops"].id, scene.gateways["web"].id

    def scraped(person: str) -> str:
        answer = page.ask("/metrics", headers={"authorization": f"Bearer {new_token(scene.owner, person)}"})
        assert answer.status == 200, answer.data
        return str(answer.data.decode())

    found = scraped("anna")
    assert 'toolguard_fleet_pending{team="ops"} 1.0' in found
    assert f'toolguard_fleet_gateway_silent_seconds{{gateway="{ops}",state="admitted",team="ops"}}' in found
    assert web not in found
    assert "toolguard_fleet_maintained_seconds +Inf" in found
    assert "toolguard_fleet_partitions_ahead_days 1.0" in found
    scene.owner.execute("SELECT fleet.maintain()")
    assert web in (found := scraped("root"))
    assert "+Inf" not in found
    for header in ({}, {"authorization": f"Bearer tgf-{'0' * 64}"}, {"authorization": "Bearer x"}):
        assert page.ask("/metrics", headers=header).status == 401
    assert "toolguard_fleet" not in page.ask("/metrics", headers=enter(scene, page, "anna").headers).data.decode()


def test_either_half_of_a_session_opens_nothing(scene: FleetScene, page: FleetPage) -> None:
    anna = enter(scene, page, "anna")
    other = enter(scene, page, "root")
    mixed = {"cookie": anna.headers["cookie"], "x-toolguard-key": other.headers["x-toolguard-key"]}
    twice = {**anna.headers, "cookie": f"{anna.headers['cookie']}; {other.headers['cookie']}"}
    stolen = [{name: value} for name, value in anna.headers.items()]
    assert {page.ask("/api/me", headers=headers).status for headers in (*stolen, mixed, twice)} == {401}
    assert anna.get("/api/me")["id"] == "anna"


def test_the_cookie_is_kept_from_scripts_and_other_sites(scene: FleetScene, page: FleetPage) -> None:
    answer = page.ask("/api/session", {"token": new_token(scene.owner, "anna")}, {"origin": f"http://{page.host}"})
    flags = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/"} <= flags
    assert not any(flag.startswith("domain") for flag in flags)
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


def test_other_sites_and_hosts_are_refused(scene: FleetScene, page: FleetPage) -> None:
    anna = enter(scene, page, "anna")
    body = {"team": "ops", "on": True}
    refused = [
        anna.ask("/api/kill", body, origin="https://evil.example"),
        anna.ask("/api/kill", body, origin="null"),
        anna.ask("/api/kill", body, **{"sec-fetch-site": "cross-site"}),
        anna.ask("/api/kill", body, host="evil.example", origin="http://evil.example"),
        anna.ask("/api/kill", body, **{"content-type": "text/plain"}),
    ]
    assert [answer.status for answer in refused] == [403, 403, 403, 403, 415]
    assert scene.caller("ops").sync()["kill"] is False


def test_tokens_end_with_their_time_their_revocation_and_their_person(scene: FleetScene, page: FleetPage) -> None:
    tokens = {person: new_token(scene.owner, person) for person in ("anna", "bert", "carla")}
    visitors = {person: page.log_in(token) for person, token in tokens.items()}
    assert [each.get("/api/me")["id"] for each in visitors.values()] == ["anna", "bert", "carla"]
    scene.owner.execute("SELECT fleet.revoke_page_token(id) FROM fleet.page_token WHERE person = 'anna'")
    scene.owner.execute("UPDATE fleet.page_token SET expires = clock_timestamp() WHERE person = 'bert'")
    scene.owner.execute("SELECT fleet.revoke_approver('carla')")
    assert [each.ask("/api/me").status for each in visitors.values()] == [401] * 3
    again = [page.ask("/api/session", {"token": token}) for token in tokens.values()]
    assert [(answer.status, answer.code) for answer in again] == [(401, "token")] * 3
    stored = scene.owner.execute("SELECT string_agg(t::text, '') FROM fleet.page_token AS t").fetchone()
    assert stored
    assert not any(token[4:] in stored[0] for token in tokens.values())


def test_a_role_that_is_taken_away_ends_at_once(scene: FleetScene, page: FleetPage) -> None:
    anna = enter(scene, page, "anna")
    scene.owner.execute("UPDATE fleet.approver SET role = 'viewer', teams = '{web}' WHERE id = 'anna'")
    assert [each["team"] for each in anna.get("/api/teams")["teams"]] == ["*", "web"]
    assert anna.ask("/api/kill", {"team": "ops", "on": True}).status == 403


def test_logging_out_ends_the_session(scene: FleetScene, page: FleetPage) -> None:
    anna = enter(scene, page, "anna")
    assert anna.ask("/api/session/end", {}).status == 200
    assert anna.ask("/api/me").status == 401


def test_guesses_are_limited_and_keep_nobody_out(scene: FleetScene, page: FleetPage) -> None:
    guesses = [page.ask("/api/session", {"token": f"tgf-{number:064x}"}).status for number in range(22)]
    assert (guesses[:20], guesses[20:]) == ([401] * 20, [429, 429])
    assert enter(scene, page, "anna").get("/api/me")["id"] == "anna"


@pytest.mark.thorough
@pytest.mark.parametrize("token", ["", "tgf-", "x" * 100_000, "tgf-" + "0" * 63, None, {"a": 1}])
def test_tokens_of_another_form(page: FleetPage, token: object) -> None:
    assert page.ask("/api/session", {"token": token}).status in (413, 422)


def test_a_proxy_names_persons_over_its_socket_only(scene: FleetScene, page: FleetPage, tmp_path: Path) -> None:
    path = tmp_path / "fleet.sock"
    nonce = scene.hold("ops", "exec", "rm x")
    body = {"gateway": scene.gateways["ops"].id, "nonce": nonce}
    anna = {"x-forwarded-user": "anna"}
    with FleetPageProcess(scene.database, unix=path, hosts=("https://fleet.example",)) as proxied:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert (proxied.ask("/api/me", headers=anna).status, page.ask("/api/me", headers=anna).status) == (401, 401)
        scene.owner.execute("SELECT fleet.set_page_proxy(true)")
        proxied.host = "fleet.example"
        found = proxied.ask("/api/me", headers=anna).json
        assert (found["id"], found["proxied"]) == ("anna", True)
        assert page.ask("/api/me", headers=anna).status == 401, "over TCP the header is not believed"
        wrong = ["nobody", "anna, root", "anna\troot", "' OR 1=1", ""]
        assert {proxied.ask("/api/me", headers={"x-forwarded-user": name}).status for name in wrong} <= {401, 403}
        own = {"origin": "https://fleet.example", **anna}
        assert proxied.ask("/api/deny", body, anna).status == 403, "a change needs an origin"
        assert proxied.ask("/api/deny", body, {**own, "origin": "https://evil.example"}).status == 403
        assert proxied.ask("/api/deny", body, own).status == 200
        scene.owner.execute("SELECT fleet.set_page_proxy(false)")
        assert proxied.ask("/api/me", headers=anna).status == 401
    assert not path.exists()


@pytest.mark.thorough
def test_a_proxied_name_counts_more_than_a_session(scene: FleetScene, page: FleetPage, tmp_path: Path) -> None:
    root = enter(scene, page, "root")
    scene.owner.execute("SELECT fleet.set_page_proxy(true)")
    with FleetPageProcess(scene.database, unix=tmp_path / "fleet.sock") as proxied:
        found = proxied.ask("/api/me", headers={**root.headers, "x-forwarded-user": "anna"}).json
        assert found["id"] == "anna"


def test_two_header_lines_name_nobody(scene: FleetScene, tmp_path: Path) -> None:
    scene.owner.execute("SELECT fleet.set_page_proxy(true)")
    path = tmp_path / "fleet.sock"
    with FleetPageProcess(scene.database, unix=path), socket.socket(socket.AF_UNIX) as raw:
        raw.connect(str(path))
        lines = ["GET /api/me HTTP/1.1", "host: localhost", "x-forwarded-user: anna", "X-Forwarded-User: root", "", ""]
        raw.sendall("\r\n".join(lines).encode())
        assert raw.recv(100).startswith(b"HTTP/1.1 403")


def test_the_login_of_the_page_opens_nothing_by_itself(scene: FleetScene) -> None:
    login = scene.database.connect("toolguard_page")
    scene.hold("ops", "exec", "rm x")
    forbidden = [
        "SELECT fleet.waiting()", "SELECT fleet.gateways()", "SELECT fleet.decide('gw', '0', 'denied', '', '', '')",
        "SELECT fleet.kill('ops', true, '')", "SELECT * FROM fleet.held", "SELECT * FROM fleet.page_session",
        "SELECT fleet.page_person('')", "SELECT fleet.page_begin('root', NULL, 'infinity', sha256(''))",
        "SELECT fleet.whoami()", "SELECT fleet.add_page_token('root', sha256(''), 1)", "SELECT fleet.set_page_proxy(true)",
        "SET ROLE toolguard_admin",
    ]  # fmt: skip
    for statement in forbidden:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            login.execute(statement)
    login.execute("SELECT set_config('toolguard.page_person', 'root', false)")
    for statement in ("page_me('')", f"page_waiting('{'0' * 64}')", "page_enter('root', sha256(''))", "page_login('', '')"):
        with pytest.raises((psycopg.errors.RaiseException, psycopg.errors.InvalidParameterValue, psycopg.DatabaseError)):
            login.execute(f"SELECT fleet.{statement}")


def test_the_page_login_cannot_be_a_person(scene: FleetScene) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        scene.owner.execute("SELECT fleet.add_approver('eve', 'toolguard_page', 'approver', '{ops}')")


def test_admins_make_tokens_for_their_own_teams_only(scene: FleetScene) -> None:
    lead = scene.database.person("lead", "admin", ("ops",))
    new_token(lead, "anna")
    for person, connection in (("carla", lead), ("root", lead), ("anna", scene.persons["bert"])):
        with pytest.raises(psycopg.DatabaseError) as refused:
            new_token(connection, person)
        assert refused.value.sqlstate in ("TG011", "42501")
    with pytest.raises(psycopg.DatabaseError, match="not responsible"):
        lead.execute("SELECT fleet.set_page_proxy(true)")
    listed = lead.execute("SELECT fleet.page_tokens()").fetchall()
    assert [row[0]["person"] for row in listed] == ["anna"]


def test_costs_and_health(scene: FleetScene, page: FleetPage) -> None:
    scene.spend("ops", 2.5)
    scene.spend("web", 4.0)
    root = enter(scene, page, "root")
    found = root.get("/api/costs?hours=168&by=team")
    assert (found["costUsd"], [(each["name"], each["costUsd"]) for each in found["rows"]]) == (
        6.5, [("web", 4.0), ("ops", 2.5)],
    )  # fmt: skip
    assert len(root.get("/api/costs?hours=24&by=hour")["rows"]) == 1
    assert root.ask("/api/costs?hours=24&by=team;drop").status == root.ask("/api/costs?hours=0").status == 422
    health = root.get("/api/health")
    assert (health["version"], {"held_closed", "audit", "call"} <= {each["table"] for each in health["partitions"]}) == (
        health["known"], True,
    )  # fmt: skip


def test_a_database_that_is_gone_is_reported_without_its_name(scene: FleetScene, page: FleetPage) -> None:
    anna = enter(scene, page, "anna")
    with psycopg.connect(scene.database.server.dsn(), autocommit=True) as superuser:
        superuser.execute(f"ALTER DATABASE {scene.database.name} ALLOW_CONNECTIONS false")
        superuser.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND usename = 'toolguard_page'",
            (scene.database.name,),
        )
        answers = [anna.ask("/api/me") for _ in range(8)]
        assert {(answer.status, answer.code) for answer in answers} == {(503, "database")}
        assert not any(scene.database.name.encode() in answer.data for answer in answers)


def test_many_at_once_are_all_answered(scene: FleetScene, page: FleetPage) -> None:
    anna = enter(scene, page, "anna")
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: anna.ask("/api/calls").status, range(100)))
    assert answers == [200] * 100
