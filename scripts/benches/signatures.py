"""Measures what verifying the signature of an approval takes, beside a start of the same program that does nothing, and
what the use of an approval takes with a signature and without one. In turns, with the load of the machine.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

from figures import Figure, milliseconds, options, quantile, report

from toolguard_engine.approvals import signed_decision
from toolguard_engine.approvals.ledger import Decision, HeldCall
from toolguard_engine.approvals.signed_decision import DECISION_NAMESPACE
from toolguard_engine.model.signed_body import SignedBody
from toolguard_engine.stores import open as stores
from toolguard_engine.stores import ssh_keygen

ROUNDS = 300


def main() -> None:
    chosen = options(__doc__)
    chosen.add_argument("--rounds", type=int, default=ROUNDS)
    given = chosen.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measured(Path(folder), given.rounds)
    report(figures, given.json)


def measured(folder: Path, rounds: int) -> list[Figure]:
    key, state = folder / "ann", folder / "state"
    (state / "toolguard").mkdir(parents=True)
    program = ssh_keygen.program()
    subprocess.run([program, "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    allowed = folder / "allowed_signers"
    allowed.write_text(f"ann@example.com {key.with_suffix('.pub').read_text()}")
    signers = stores.signers(state, str(allowed))
    entry = _entry(0)
    body = signed_decision.decision_body(entry, signers.issuer, time.time() + 3_600)
    signed = _signed(program, key, body)
    bare, verified, plain, proven = list[float](), list[float](), list[float](), list[float]()
    one, other = (stores.held_calls(folder / name, proof=proof) for name, proof in (("one", None), ("other", signers)))
    for number in range(rounds):
        bare.append(milliseconds(lambda: subprocess.run([program, "-V"], capture_output=True, check=False)))
        verified.append(milliseconds(lambda: ssh_keygen.verify(signed, DECISION_NAMESPACE, signers.files, 10)))
        now = time.time()
        for store, times, sign in ((one, plain, False), (other, proven, True)):
            call = _entry(number + 1)
            held = store.present(call, now).entry
            text = signed_decision.decision_body(held, signers.issuer, now + 3_600)
            made = (_signed(program, key, text),) if sign else ()
            store.approve(held.nonce, Decision("ann", "cli"), now, 600, signatures=made)
            times.append(milliseconds(lambda store=store, call=call, now=now: _used(store.present(call, now).outcome)))
    ratio = quantile(verified, 0.5) / quantile(bare, 0.5)
    load = f"load {os.getloadavg()[0]:.1f}"
    return [
        Figure("start of ssh-keygen (-V), p50", quantile(bare, 0.5), "ms", load),
        Figure("start of ssh-keygen (-V), p99", quantile(bare, 0.99), "ms"),
        Figure("verify a signature (2 starts), p50", quantile(verified, 0.5), "ms", f"{ratio:.1f} starts"),
        Figure("verify a signature, p99", quantile(verified, 0.99), "ms", promise=20),
        Figure("use an approval, unsigned, p50", quantile(plain, 0.5), "ms"),
        Figure("use an approval, signed, p50", quantile(proven, 0.5), "ms"),
        Figure("use an approval, signed, p99", quantile(proven, 0.99), "ms"),
    ]


def _entry(number: int) -> HeldCall:
    now = time.time()
    shown = 'exec({ command: "rm -rf build" })'
    return HeldCall("", f"b{number}", "exec", "main", "s", "r", "c", "why", shown, now, now + 600)


def _signed(program: str, key: Path, body: bytes) -> SignedBody:
    words = [program, "-Y", "sign", "-f", str(key), "-n", DECISION_NAMESPACE]
    made = subprocess.run(words, input=body, capture_output=True, check=True)
    return SignedBody(body.decode(), made.stdout.decode())


def _used(outcome: str) -> None:
    assert outcome == "used"


if __name__ == "__main__":
    main()
