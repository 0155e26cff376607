"""Statements for a database in memory run unasked, and nothing that reaches another one."""

from __future__ import annotations

from setting_ways import Files, decided
from tables import each_row


@each_row(
    ("command", "expected"),
    [
        ("sqlite3 :memory: 'drop table x'", "allow"),
        ("sqlite3 '' 'create table x(a); drop table x'", "allow"),
        ("duckdb :memory: 'drop table x'", "allow"),
        ("echo 'delete from x;' | sqlite3 :memory:", "allow"),
        ("sqlite3 shop.db 'drop table x'", "hold"),
        ("sqlite3 'drop table x'", "hold"),
        ("sqlite3 :memory: \"attach 'shop.db' as s; drop table s.x\"", "hold"),
        ("printf '.open shop.db\\n drop table x;' | sqlite3 :memory:", "hold"),
        ("sqlite3 \"$DB\" 'drop table x'", "hold"),
        ("sqlite3 :memory: '.shell rm -rf ~'", "block"),
        ("sqlite3 -init other.sql :memory: 'drop table x'", "hold"),
        ("sqlite3 -cmd '.open shop.db' :memory: 'drop table x'", "hold"),
        ('sqlite3 :memory: "$(cat f); drop table x"', "hold"),
        ("sqlite3 :memory: \"$(cat f)\" 'drop table x'", "hold"),
        ("sqlite3 :memory: 'VACUUM INTO \"shop.db\"; drop table x'", "hold"),
        ("sqlite3 :memory: \"select load_extension('./x.so')\"", "hold"),
        ("sqlite3 :memory: \"create virtual table z using zipfile('a.zip'); delete from z\"", "hold"),
        ("printf 'alter table main\\n.t drop column a;' | sqlite3 shop.db", "hold"),
        ("duckdb :memory: \"call postgres_execute('p', 'x'); drop table x\"", "hold"),
    ],
)
def test_only_statements_for_a_database_in_memory_run_unasked(command: str, expected: str) -> None:
    assert decided("exec", {"command": command}, Files())[0] == expected
