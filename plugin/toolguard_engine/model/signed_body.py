"""A text that a person signed with an SSH key, and the signature. Values only, bounded; what they prove is for `stores`."""

from __future__ import annotations

import msgspec

MAX_BODY = 2_000
MAX_SIGNATURE = 8_192
"""Characters. The signature of a certificate with a long list of principals has about 4,000."""

MAX_SIGNATURES = 8
MAX_PRINCIPAL = 200


class SignedBody(msgspec.Struct, frozen=True, gc=False):
    """`body`: the signed text; `signature`: as `ssh-keygen -Y sign` prints it; `principal`: who it was when it was made, for
    display only: it is not part of what is signed."""

    body: str
    signature: str
    principal: str = ""

    @property
    def is_bounded(self) -> bool:
        """The signature is also ASCII, so that its characters are bytes."""
        if len(self.body) > MAX_BODY or len(self.principal) > MAX_PRINCIPAL:
            return False
        return len(self.signature) <= MAX_SIGNATURE and self.signature.isascii()
