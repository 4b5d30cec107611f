"""The arithmetic of Hangul syllables: which particle a word takes, and its romanisation.

Unicode lays the 11,172 syllables out as ``0xAC00 + (initial * 21 + vowel) * 28 + final``, so a
syllable can be taken apart, and given a final consonant, by division.
"""

_FIRST, _LAST, _N_VOWELS, _N_FINALS = 0xAC00, 0xD7A3, 21, 28
_INITIALS = "g kk n d tt r m b pp s ss - j jj ch k t p h".replace("-", "").split(" ")
_VOWELS = "a ae ya yae eo e yeo ye o wa wae oe yo u wo we wi yu eu ui i".split()
_FINALS = " g kk gs n nj nh d l lg lm lb ls lt lp lh m b bs s ss ng j ch k t p h".split(" ")

FINAL_N, FINAL_B = 4, 17


def _is_syllable(character: str) -> bool:
    return _FIRST <= ord(character) <= _LAST


def final_consonant(word: str) -> int:
    """Number, to 27, of the last syllable's final consonant; 0 if it ends in a vowel."""
    if not word or not _is_syllable(word[-1]):
        raise ValueError(f"word is {word!r}, wanted one that ends in a Hangul syllable")
    return (ord(word[-1]) - _FIRST) % _N_FINALS


def with_final(stem: str, final: int) -> str:
    """Give the vowel-final ``stem`` a final consonant: 보 with ``FINAL_N`` is 본."""
    if final_consonant(stem):
        raise ValueError(f"{stem!r} has a final consonant already")
    return stem[:-1] + chr(ord(stem[-1]) + final)


def attach(word: str, particle: str) -> str:
    """Attach a particle in the form that fits: ``particle`` is "after consonant/after vowel".

    >>> attach("책", "이/가"), attach("개", "이/가")
    ('책이', '개가')
    """
    after_consonant, after_vowel = particle.split("/")
    return word + (after_consonant if final_consonant(word) else after_vowel)


def romanise(word: str) -> str:
    """Write Hangul in Latin letters, letter for letter, without the sound changes of speech.

    Letters are those of the Revised Romanization; other characters stay.
    """
    out = []
    for character in word:
        if not _is_syllable(character):
            out.append(character)
            continue
        rest, final = divmod(ord(character) - _FIRST, _N_FINALS)
        initial, vowel = divmod(rest, _N_VOWELS)
        out.append(_INITIALS[initial] + _VOWELS[vowel] + _FINALS[final])
    return "".join(out)
