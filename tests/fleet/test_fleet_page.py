"""The fleet dashboard's API: what a person of one team sees and may do, on a real database."""

from __future__ import annotations

from fleet_database import Connection, FleetDatabase
from fleet_page import FleetPage, new_token
from held_calls_at_database import Caller
from toolguard_cli.fleet.page_data import ENDPOINTS

PATHS = [each.path for each in ENDPOINTS if each.method == "GET"]


def test_a_person_sees_only_the_own_teams(database: FleetDatabase, owner: Connection, gateway_login: Connection) -> None:
    mine, theirs = database.gateway("ops"), database.gateway("web")
    own = Caller(gateway_login, mine).present()
    foreign = Caller(gateway_login, theirs).present()
    database.person("anna", "approver", ("ops",))
    database.person("root", "admin", ("*",))
    with FleetPage(database) as page:
        anna = page.log_in(new_token(owner, "anna"))
        seen = [anna.ask(path) for path in PATHS]
        assert [answer.status for answer in seen] == [200] * len(PATHS)
        text = b"".join(answer.data for answer in seen).decode()
        assert own["nonce"] in text
        assert [theirs.id in text, foreign["nonce"] in text, '"web"' in text] == [False, False, False]
        assert [each["team"] for each in anna.get("/api/teams")["teams"]] == ["*", "ops"]
        assert {each["team"] for each in page.log_in(new_token(owner, "root")).get("/api/gateways")["gateways"]} == {
            "ops",
            "web",
        }
