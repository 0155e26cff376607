"""Signs in a path that nobody sees, or that no file name should have.

They make two paths look alike, and programs disagree about them: what one strips, the next takes for part of the name. Signs
that ordinary writing needs are not odd: joiners between the letters of Arabic or Indic words, selectors and joiners inside
an emoji, and blanks inside a name.
"""

from __future__ import annotations

from toolguard_engine import lazy_re

_EMOJI = r"\u2100-\u2bff\u3030\u303d\u3297\u3299\u00a9\u00ae\u203c\u2049\U0001f000-\U0001faff"
_JOINING = r"\u0600-\u109f\u1780-\u18af\u1b00-\u1bff\ua840-\ua8ff"
_VIRAMA = r"\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca"
_IDEOGRAPH = r"\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
NEEDED = lazy_re.compile(
    rf"(?<=[{_EMOJI}])[\ufe0e\ufe0f]"
    rf"|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"
    r"|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    r"|(?<=\U0001f3f4)[\U000e0030-\U000e007a]{1,8}\U000e007f"
    rf"|(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])"
    rf"|(?<=[{_VIRAMA}])[\u200c\u200d]"
    rf"|(?<=[{_IDEOGRAPH}])[\ufe00-\ufe02\U000e0100-\U000e01ef]"
    r"|(?<=[\u1820-\u18aa])[\u180b-\u180d\u180f]"
)
"""The signs without a shape of their own that ordinary writing needs, where it needs them."""

_BLANKS = r"\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_ODD = lazy_re.compile(
    r"[<>\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff]"
    rf"|(?<![^/])[{_BLANKS}]|[{_BLANKS}](?![^/])"
)


def first(path: str) -> str:
    """The first odd sign in a path as `U+200B`, with the sign itself if it can be seen; empty if there is none."""
    match = _ODD.search(path) and _ODD.search(NEEDED.sub("", path))
    if match is None:
        return ""
    sign = match[0]
    return f"U+{ord(sign):04X}" + (f" ({sign})" if sign in "<>" else "")
