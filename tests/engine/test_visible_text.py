# ruff: noqa: RUF001 - the sentences are what they look like
"""What cannot be seen is written out, and ordinary writing of any script stays as it is."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from invisible_signs import CODES, among, hidden_in
from tables import each_row
from toolguard_engine.wording.visible_text import counted_spaces, is_visible, one_line, visible, visible_cut

DECOMPOSED = {
    "Vietnamese": "Xin hãy xóa tất cả các tệp tiếng Việt, đường dẫn ưỡn ộ",
    "French": "Où est l’élève naïf à Noël ? Ça va",
    "Greek": "Ἀρχὴ τῆς σοφίας ᾧ",
    "Russian": "Удалить мой файл, ёлка, й",
    "Yoruba": "Ẹ jọ̀ọ́ pa fáìlì yìí rẹ́",
    "Korean": "이 파일을 삭제해 주세요",
    "Japanese": "このファイルを削除してください。ガギグパピプ",
}
WRITTEN = {
    "Hindi": "यह फ़ाइल हटाएँ और क्षमा करें, स्त्री ज्ञान श्रीमान्\u200cजी",
    "Arabic": "اِحْذَفْ هٰذَا المَلَفَّ مِنْ فَضْلِكَ",
    "Persian": "می\u200cخواهم این پرونده\u200cها را پاک کنم",
    "Thai": "กรุณาลบไฟล์นี้ทั้งหมดด้วยน้ำใจ ที่นี่",
    "Hebrew": "בְּרֵאשִׁ֖ית בָּרָ֣א אֱלֹהִ֑ים אֵ֥ת הַשָּׁמַ֖יִם",
    "Tibetan": "བོད་སྐད་ བཀྲ་ཤིས་བདེ་ལེགས། སྒྲུབ",
    "Bengali": "ফাইলটি মুছে ফেলুন, দয়া করে",
    "Tamil": "இந்தக் கோப்பை நீக்கவும்",
    "Telugu": "దయచేసి ఈ ఫైల్\u200cను తొలగించండి",
    "Burmese": "ဤဖိုင်ကို ဖျက်ပါ",
    "Khmer": "សូមលុបឯកសារនេះ ស្រី ខ្ញុំ",
    "Sinhala": "මෙම ගොනුව මකන්න ශ්\u200dරී ලංකා",
    "Amharic": "እባክዎ ይህን ፋይል ይሰርዙ",
    "Chinese": "请删除这个文件，谢谢。——“好的”…",
    "emoji": "👩\u200d👩\u200d👧\u200d👦 👍🏽 ❤\ufe0f 🇩🇪 1\ufe0f\u20e3 ☕\ufe0f 👩🏽\u200d💻 🤷\u200d♀\ufe0f",
    "a flag of letters": "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "symbols": "┌──┐│✓│└──┘ → ≠ ∑ € ½ © ™ №",
    "code": "for f in *; do printf '%s\\\\n' \"$f\" | sed 's/a/<b>/'; done",
}


@each_row("text", WRITTEN.values(), ids=WRITTEN)
def test_ordinary_writing_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


@each_row("text", DECOMPOSED.values(), ids=DECOMPOSED)
@each_row("form", ["NFC", "NFD"])
def test_writing_in_parts_stays_as_it_is(text: str, form: str) -> None:
    normal = unicodedata.normalize("NFD" if form == "NFD" else "NFC", text)
    assert visible(normal) == normal


def test_every_sign_that_cannot_be_seen_is_written_out() -> None:
    assert len(set(CODES)) >= 60
    assert {code: hidden_in(visible(among(code)), [code]) for code in CODES} == {code: [] for code in CODES}


MARKED = {
    "struck through": ("r\u0336m\u0336", "r<U+0336>m<U+0336>"),
    "struck through in another script": ("т\u0336 न\u0336 é\u0336", "т<U+0336> न<U+0336> é<U+0336>"),
    "marks on nothing": ("\u0300 -\u0301 7\u0302", "<U+0300> -<U+0301> 7<U+0302>"),
    "marks of another script": ("a\u064b क\u0301 a\u3099", "a<U+064B> क<U+0301> a<U+3099>"),
    "a heap of accents": ("a" + "\u0301" * 6, "a\u0301\u0301\u0301<U+0301><U+0301><U+0301>"),
    "many of the same": ("a" + "\u2800" * 500 + "b", "a<U+2800 x500>b"),
    "an accent on a cover": ("a\u0301\u0336", "a\u0301<U+0336>"),
    "a joiner beside ASCII": ("rm\u200d -rf", "rm<U+200D> -rf"),
    "a selector beside ASCII": ("rm\ufe0f", "rm<U+FE0F>"),
    "tags without a flag": ("a\U000e0072\U000e006d", "a<U+E0072><U+E006D>"),
    "half a character": ("a\ud800b", "a<U+D800>b"),
    "line ends": ("a\r\n\tb", "a<U+000D><U+000A><U+0009>b"),
}


@each_row(("text", "shown"), MARKED.values(), ids=MARKED)
def test_what_hides_something_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert not is_visible(text)


HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})


@given(st.characters(categories=sorted(HIDDEN - {"Cn"})))
def test_no_sign_of_a_hidden_category_is_shown_as_it_is(sign: str) -> None:
    assert (sign in visible(f"a{sign}b")) is (sign == " ")


@given(st.text(max_size=60))
def test_what_is_visible_stays_so(text: str) -> None:
    once = visible(text)
    assert visible(once) == once
    assert "\n" not in once


def test_a_cut_text_is_visible_and_says_its_length() -> None:
    assert visible_cut("a\u200bb", 20) == "a<U+200B>b"
    assert visible_cut("a" * 30, 20) == "a" * 20 + "... (30 characters)"
    assert visible_cut("\u2028" + "\u200b\u2060" * 9, 20) == "<U+2028><U+200B><U+2... (19 characters)"
    assert one_line("a\r\n\tb") == "a   b"


def test_long_runs_of_spaces_are_counted() -> None:
    assert counted_spaces("a" + " " * 40 + "b") == "a" + " " * 40 + "b"
    assert counted_spaces("a" + " " * 4_000 + "; rm -rf ~") == "a <U+0020 x3998> ; rm -rf ~"
