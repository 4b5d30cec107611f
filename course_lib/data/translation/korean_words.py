"""The words of the Korean-English grammar, and how its verbs and nouns change their form."""

from dataclasses import dataclass
from typing import Literal

from course_lib.data.translation.hangul import (
    FINAL_B,
    FINAL_N,
    final_consonant,
    romanise,
    with_final,
)

Gender = Literal["his", "her", "its", "their"]


@dataclass(frozen=True)
class Noun:
    """A noun in both languages.

    ``plural``: none for a mass noun; ``kind``: p(erson), a(nimal) or t(hing); ``gender``: the
    English possessive that refers back to it; ``honorific``: whether it takes 께서 as a subject and
    asks for 시 in the verb; ``counter``: the word that goes with a number.
    """

    korean: str
    english: str
    plural: str | None
    kind: str
    gender: Gender = "its"
    honorific: bool = False
    counter: str = "개"
    name: bool = False


@dataclass(frozen=True)
class Verb:
    """A verb in both languages.

    ``light``: the noun of a light verb: 공부를 합니다 is two words for one, "studies";
    ``objects``: the kinds that it takes: p(eople), a(nimals), t(hings).
    """

    stem: str
    past: str
    english: str
    third: str
    english_past: str
    light: str = ""
    objects: str = ""

    @property
    def transitive(self) -> bool:
        """Tell whether the verb takes an object."""
        return bool(self.objects)

    def finite(self, past: bool, honorific: bool, ending: str) -> str:
        """The verb that ends a clause: a statement, a question ("?"), or "but" ("지만")."""
        if past:
            # 보시 + 었 contracts to 보셨.
            stem = _honorific(self.stem)[:-1] + "셨" if honorific else self.past
        else:
            stem = _honorific(self.stem) if honorific else self.stem
        if ending == "지만":
            return stem + "지만"
        polite = stem + "습" if final_consonant(stem) else with_final(stem, FINAL_B)
        return polite + ("니까" if ending == "?" else "니다")

    def joining(self, honorific: bool) -> str:
        """The verb before "and" (고): it has no tense, the last verb of the sentence has it."""
        return (_honorific(self.stem) if honorific else self.stem) + "고"

    def relative(self) -> str:
        """The past form that stands before a noun: 본 고양이, "the cat that saw"."""
        if final_consonant(self.stem):
            return self.stem + "은"
        return with_final(self.stem, FINAL_N)


def _honorific(stem: str) -> str:
    return stem + ("으시" if final_consonant(stem) else "시")


@dataclass(frozen=True)
class Pronoun:
    """A personal pronoun in both languages; ``possessive`` is the English one."""

    topic: str
    object: str
    english: str
    english_object: str
    possessive: str
    third_singular: bool


def _person(korean: str, english: str, plural: str, gender: Gender, honorific: bool) -> Noun:
    counter = "분" if honorific else "명"
    return Noun(korean, english, plural, "p", gender, honorific, counter)


def _genders(woman: str, man: str) -> tuple[tuple[str, Gender], tuple[str, Gender]]:
    return (woman, "her"), (man, "his")


PEOPLE = (
    _person("아이", "child", "children", "their", False),
    _person("학생", "student", "students", "their", False),
    _person("친구", "friend", "friends", "their", False),
    _person("의사", "doctor", "doctors", "their", False),
    _person("여자", "woman", "women", "her", False),
    _person("남자", "man", "men", "his", False),
    _person("할머니", "grandmother", "grandmothers", "her", True),
    _person("할아버지", "grandfather", "grandfathers", "his", True),
    _person("선생님", "teacher", "teachers", "their", True),
)
ANIMALS = tuple(
    Noun(korean, english, plural, "a", counter="마리")
    for korean, english, plural in (
        ("개", "dog", "dogs"),
        ("고양이", "cat", "cats"),
        ("새", "bird", "birds"),
        ("말", "horse", "horses"),
        ("소", "cow", "cows"),
    )
)
THINGS = (
    Noun("물", "water", None, "t"),
    Noun("빵", "bread", None, "t"),
    *(
        Noun(korean, english, english + "s", "t", counter=counter)
        for korean, english, counter in (
            ("책", "book", "권"),
            ("사과", "apple", "개"),
            ("편지", "letter", "장"),
            ("의자", "chair", "개"),
            ("꽃", "flower", "송이"),
            ("공", "ball", "개"),
            ("모자", "hat", "개"),
            ("그림", "picture", "장"),
            ("시계", "clock", "개"),
            ("문", "door", "개"),
        )
    ),
)
_WOMEN = "미나 수진 은지 유나 소라 다은 나리 지혜 보람 가영 예린 세희".split()
_MEN = "민호 준수 철수 영호 동민 성진 태오 재훈 기범 우진 도윤 현석".split()
# Interleaved, so that both genders have frequent names (the first) and rare ones (the last).
NAMES = tuple(
    Noun(korean, romanise(korean), None, "p", gender, name=True)
    for woman, man in zip(_WOMEN, _MEN, strict=True)
    for korean, gender in _genders(woman, man)
)
PRONOUNS = (
    Pronoun("나는", "나를", "i", "me", "my", False),
    Pronoun("우리는", "우리를", "we", "us", "our", False),
    Pronoun("그는", "그를", "he", "him", "his", True),
    Pronoun("그녀는", "그녀를", "she", "her", "her", True),
    Pronoun("그들은", "그들을", "they", "them", "their", False),
)
VERBS = (
    Verb("보", "봤", "see", "sees", "saw", objects="pat"),
    Verb("사", "샀", "buy", "buys", "bought", objects="t"),
    Verb("만나", "만났", "meet", "meets", "met", objects="pa"),
    Verb("찾", "찾았", "find", "finds", "found", objects="pat"),
    Verb("그리", "그렸", "draw", "draws", "drew", objects="pat"),
    Verb("잡", "잡았", "catch", "catches", "caught", objects="at"),
    Verb("숨기", "숨겼", "hide", "hides", "hid", objects="t"),
    Verb("씻", "씻었", "wash", "washes", "washed", objects="at"),
    Verb("좋아하", "좋아했", "like", "likes", "liked", objects="pat"),
    Verb("따라가", "따라갔", "follow", "follows", "followed", objects="pa"),
    Verb("기다리", "기다렸", "wait for", "waits for", "waited for", objects="pa"),
    Verb("뛰", "뛰었", "run", "runs", "ran"),
    Verb("웃", "웃었", "laugh", "laughs", "laughed"),
    Verb("쉬", "쉬었", "rest", "rests", "rested"),
    Verb("하", "했", "study", "studies", "studied", light="공부를"),
    Verb("하", "했", "sing", "sings", "sang", light="노래를"),
    Verb("하", "했", "cook", "cooks", "cooked", light="요리를"),
)
# (Korean, English, kinds of noun that it fits)
ADJECTIVES = (
    ("큰", "big", "pat"),
    ("작은", "small", "pat"),
    ("예쁜", "pretty", "pat"),
    ("이상한", "strange", "pat"),
    ("젊은", "young", "pa"),
    ("빨간", "red", "t"),
    ("하얀", "white", "at"),
    ("검은", "black", "at"),
    ("낡은", "old", "t"),
    ("새로운", "new", "t"),
)
INTENSIFIERS = (("아주", "very"), ("정말", "really"), ("꽤", "quite"))
ADVERBS = (
    ("빨리", "quickly"),
    ("천천히", "slowly"),
    ("조용히", "quietly"),
    ("다시", "again"),
    ("매일", "every day"),
)
PLACES = (
    ("공원에서", "in the park"),
    ("학교에서", "at school"),
    ("시장에서", "at the market"),
    ("집에서", "at home"),
)
# (Korean, English, tense that it asks for)
TIMES = (
    ("오늘", "today", None),
    ("아침에", "in the morning", None),
    ("밤에", "at night", None),
    ("어제", "yesterday", "past"),
    ("지난 주에", "last week", "past"),
)
NUMBERS = (("두", "two"), ("세", "three"), ("네", "four"), ("다섯", "five"))
GREETINGS = (("좋은 아침입니다", "good morning"), ("좋은 저녁입니다", "good evening"))
