"""The known shapes of secrets: one table, in the order in which it is applied.

Each shape has the name that stands in the secret's place, the words of which one is in every text that holds such a
secret, and an expression. What its group matched is the secret; where the group takes no part, the expression only
skips what needs no second look. How the table is applied is in `redaction.py`.

Every expression takes linear time, whatever the text: it begins with a literal word, and what follows is either
bounded or possessive and then part of the match, so that no character is looked at again from another start.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of secret; `words` are in lower case, and the first of `groups` that takes part is what is replaced."""

    name: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    groups: tuple[int | str, ...] = (0,)


def _shape(name: str, words: str, pattern: str, *groups: int | str, flags: re.RegexFlag = re.NOFLAG) -> Shape:
    compiled = re.compile(pattern, flags | re.ASCII | re.VERBOSE)
    return Shape(name, tuple(words.split()), compiled, groups or (0,))


_START = r"(?:(?<![A-Za-z0-9]) | (?<=\\[nrt]) | (?<=%[0-9A-Fa-f]{2}))"
"""Where a word may begin: also after an escaped line break, and after an encoded character of a URL."""

_BREAK = r"(?:\s | \\+[nrt])"

_BEGIN_KEY = r"-----BEGIN[ ](?:[A-Z0-9]{1,16}[ ]){0,4}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----"
_END_KEY = r"-----END[ ](?:[A-Z0-9]{1,16}[ ]){0,4}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----"

_HEADER = r"""authorization (?: (?: \\{0,3}["'`] \]? )? [ \t]* (?> => | [:=] ) [ \t]* | \\*["'] [ ]* , [ ]* )
    b? (?: \\*["'] )?"""
_GAP = r"(?: [ \t]|%20|\+ )++"
_WORD = r"""[^\s"'\\<>,;\[] [^\s"'\\<>]*+"""

_WORDY = r"[A-Za-z0-9._~+/=:%-]"
_TOKEN = rf"""
    (?! \d{{1,12}} (?![A-Za-z0-9_~+/=-]))
    (?: (?= {_WORDY}{{0,63}} \d) {_WORDY}{{6,}}+ | {_WORDY}{{20,}}+ )
"""
"""What looks like a credential and like no word and no number: `max_tokens=4096`, `token: identifier` stay."""

_MIXED = r"""
    (?-i: (?= [a-z0-9_-]{0,40} [A-Z] ) (?= [A-Z0-9_-]{0,40} [a-z] ) ) (?= [A-Za-z_-]{0,40} \d ) [\w-]{8,}+
"""
"""What no prose has after such a name: both cases and a digit."""

_NAMED = r"""(?: \\{0,3}["'`] \]? )? [ \t]* (?> => | := | == | [:=] ) [ \t]*"""
"""What stands between a name and its value, also in JSON, in JSON in a string, and after a subscript."""

_QUOTED = r"""
    (?: [\[(] [ ]* )? [bfru]{0,2} (?P<quote> ["]{3} | [']{3} | \\{0,3} ["'`] )
    (?! \[redacted:[ ] )
    (?P<quoted> (?: (?! (?P=quote) ) (?: \\{3}["'] | \\. | [^\r\n\\] ) )++ )
"""
"""A value in quotes, escaped ones within it, up to the end of the line where the closing one was cut off."""

_TYPES = r"(?: None|null|nil|true|false|undefined|str|string|bytes|int|bool|Optional|Final|SecretStr|Any|object )"
_NO_LITERAL = rf"""
    (?! {_TYPES} (?![-.\w]) )
    (?! (?: [A-Za-z_]{{1,32}} \. ){{0,4}} [A-Za-z_]{{1,32}} (?: \( (?: \) | \\?["'] ) | \[ \\?["'] ) )
    (?! (?: [A-Za-z_]{{1,32}} \. ){{1,4}} [A-Za-z_]{{0,32}} (?: passw(?:or)?d|passphrase|secret|token|key ) (?![-\w]) )
    (?! (?P=name) (?![-\w]) )
    (?! \$\{{ )  (?! (?-i: \$[A-Z][A-Z0-9_]{{1,64}} ) (?![^\s"'&;,)] ) )
"""
"""What program text has in a secret's place: a type, a call, another name, a variable."""

_BARE = rf"""
    {_NO_LITERAL}
    (?! \\{{1,3}} ["'`] )
    (?: [|>][-+]? \r?\n [ \t]+ )?  (?! [|>][-+]? (?: \s | \Z ) )
    (?P<bare>
        (?: [^\s"'`,;&<>(){{}}\[\]] | [({{<] (?= [^\s"'`=:,;(){{}}<>\[\]]{{0,40}} \d ) )
        (?: [^\s"'`,;&<>)}}\]]
          | & (?! [\w.-]{{1,64}} = )
          | [,;] (?! \s | \Z | \\[nrt] | ["'`] | [\w.-]{{1,64}} ["']? [ ]? [=:] )
          | ["'`)}}\]] (?= [A-Za-z0-9!@\#$%^*] )
        )*+
    )
"""
"""A value without quotes: up to a space, or to what begins another value."""

_SECRET_NAMES = r"""
    (?P<name> pass(?:word|wd|phrase|code) | (?<=_)pass | pwd (?! ["']? [ \t]* [=:] [ \t]* ["']? [/~.] )
    | (?: api|access|private|account|secret|signing|master|encryption|license|subscription )[-_ ]?(?:access[-_ ]?)?key
    | secret(?:[-_ ]?key[-_ ]?base)?
    | client[-_ ]?secret | connection[-_ ]?string )
    (?: [-_]?\d{1,2} )?
"""
_TOKEN_NAMES = rf"""
    (?P<name> token | credentials? | signature | {_START} sig | _auth | bearer | session[-_ ]?key | jsessionid
    | phpsessid | csrf | xsrf | nonce[-_]?secret )
    (?: [-_]?\d{{1,2}} )?
"""

_PREFIXES = (
    r"glpat- gldt- glrt- glptt- glcbt- glft- glsoat- gloas- glagent- glimt- tvly- pplx- csk- nvapi- xai- gsk_ npm_ fw_ "
    r"r8_ e2b_ lin_api_ ntn_ dop_v1_ doo_v1_ dor_v1_ dckr_pat_ hvs. hvb. whsec_ PMAK- NRAK- ATATT3 lsv2_pt_ lsv2_sk_ "
    r"shpat_ shpca_ shppa_ shpss_ sbp_ rnd_ ops_ figd_ patch_ pat_ dapi ya29. GOCSPX-"
)

SHAPES: Final[tuple[Shape, ...]] = (
    _shape(
        "private key",
        "private",
        rf"""{_BEGIN_KEY} (?= {_BREAK} | [A-Za-z0-9+/=] | \Z )
             (?: (?!-----END[ ]) . )*+ (?: {_END_KEY} | -----END[^\r\n]{{0,80}} )?""",
        flags=re.DOTALL,
    ),
    _shape(
        "private key",
        "private",
        rf"(?<![A-Za-z0-9+/=\s\\]) [A-Za-z0-9+/=\s\\]++ {_END_KEY}",
    ),
    _shape("Anthropic key", "sk-ant-", r"sk-ant-[\w-]{6,}+"),
    _shape("OpenRouter key", "sk-or-v", r"sk-or-v\d-[\w-]{6,}+"),
    _shape("OpenAI key", "sk-", r"sk-(?:proj|svcacct|admin|service|None)-[\w-]{8,}+"),
    _shape(
        "API key",
        "sk-",
        rf"""{_START} sk- (?: [A-Za-z0-9]{{20,}}+ [\w-]*+
             | (?= [A-Za-z_-]{{0,40}} \d [A-Za-z_-]{{0,40}} \d [A-Za-z_-]{{0,40}} \d ) [\w-]{{20,}}+ )""",
    ),
    _shape("Google key", "aiza", r"AIza[\w-]{30,}+"),
    _shape("AWS key id", "akia asia abia acca", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,}+"),
    _shape("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"(?:gh[pousr]_[A-Za-z0-9]|github_pat_\w)\w{15,}+"),
    _shape("Slack token", "xox xapp-", r"(?:xox[a-z](?:\.xox[a-z])?|xapp-\d)-[A-Za-z0-9-]{8,}+"),
    _shape(
        "Slack webhook",
        "hooks.slack",
        r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/([^\s\"'<>?#\[]++)",
        1,
        flags=re.IGNORECASE,
    ),
    _shape("Discord webhook", "/api/webhooks/", r"/api/webhooks/(\d{1,24}/[\w-]{16,}+)", 1),
    _shape("Telegram token", ":aa", r"(?<!\d)\d{6,12}:AA[\w-]{30,}+"),
    _shape("Stripe key", "_live_ _test_", r"(?:sk|rk|whsec)_(?:live|test)_[A-Za-z0-9]{8,}+"),
    _shape("Hugging Face token", "hf_", rf"{_START} hf_[A-Za-z0-9]{{20,}}+"),
    _shape("PyPI token", "pypi-", r"pypi-(?:AgE[\w-]{8,}+|[A-Za-z0-9_]{32,}+[\w-]*+)"),
    _shape("SendGrid key", "sg.", r"SG\.[\w-]{16,64}+\.[\w-]{16,}+"),
    _shape("Twilio key", "sk ac", r"(?:SK|AC)[0-9a-f]{32,}+"),
    _shape(
        "API key",
        _PREFIXES.lower(),
        rf"{_START} (?:{'|'.join(re.escape(prefix) for prefix in _PREFIXES.split())}) [A-Za-z0-9_.-]{{20,}}+",
    ),
    _shape(
        "JSON web token",
        "eyj",
        r"(eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]++)++\.?)|eyJ[A-Za-z0-9_-]*+",
        1,
    ),
    _shape("bearer token", "authorization", rf"{_HEADER} (?:bearer|token) {_GAP} ({_WORD})", 1, flags=re.IGNORECASE),
    _shape("basic credentials", "authorization", rf"{_HEADER} basic {_GAP} ({_WORD})", 1, flags=re.IGNORECASE),
    _shape(
        "authorization",
        "authorization",
        rf"""{_HEADER} (?: [a-z0-9-]{{2,24}}+ [ ]++ (?P<rest> [a-z0-9]++=[^\r\n]*+ | {_TOKEN} )
             | (?! [a-z0-9-]{{2,24}}+ [ ]++ \[redacted: ) (?P<plain> {_TOKEN} ) )""",
        "rest",
        "plain",
        flags=re.IGNORECASE,
    ),
    _shape("bearer token", "bearer", rf"bearer (?: [ \t:=]|%20|\+ )++ ({_TOKEN})", 1, flags=re.IGNORECASE),
    _shape(
        "basic credentials",
        "basic",
        r"[Bb]asic[ ]++ ( (?= [A-Za-z0-9+/]{0,63} [0-9+/=] ) (?= [a-z0-9+/]{0,63} [A-Z] ) (?= [A-Z0-9+/]{0,63} [a-z] )"
        r" [A-Za-z0-9+/]{8,}+ ={0,2} )",
        1,
    ),
    _shape(
        "cookie",
        "cookie",
        rf"""cookie2? (?: {_NAMED} | \\*["'] [ ]* , [ ]* ) b? (?:
             (?P<quote> \\*["'] ) (?P<quoted> [^\s=;:,"'<>\[]{{1,128}}+ = (?: (?! (?P=quote) ) [^\r\n] )*+ )
             | (?P<bare> [^\s=;:,"'<>\[]{{1,128}}+ = [^\r\n]*+ ) )""",
        "quoted",
        "bare",
        flags=re.IGNORECASE,
    ),
    _shape("cookie", "cookies", rf"cookies {_NAMED} (\{{ [^{{}}]++ \}}? )", 1, flags=re.IGNORECASE),
    _shape(
        "password",
        "://",
        r"""://[^\s/?\#@:"'<>\[]*+ : (?! \d{1,5} [/?\#] ) (?!\[redacted:[ ])
            (?: ( [^\s@"'<>]++ (?: @ [^\s@/?\#"'<>,]++ (?=@) )*+ ) @ | [^\s@"'<>]++ )""",
        1,
    ),
    _shape(
        "secret",
        "pass pwd key secret connection",
        rf"{_SECRET_NAMES} {_NAMED} (?: {_QUOTED} | {_BARE} )",
        "quoted",
        "bare",
        flags=re.IGNORECASE,
    ),
    _shape(
        "token",
        "token credential sig _auth session sessid csrf xsrf",
        rf"""{_TOKEN_NAMES} {_NAMED} (?: \\{{0,3}}["'`] )?
             (?! (?: [A-Za-z_]{{1,32}} \. ){{0,4}} [A-Za-z_]{{1,32}} [(\[] ) (?P<secret> {_TOKEN} )""",
        "secret",
        flags=re.IGNORECASE,
    ),
    _shape(
        "query parameter",
        "? &",
        r"""[?&] (?: [\w-]{0,32}? (?: token|secret|signature|api[-_]?key|access[-_]?key ) | key | sig | auth ) =
            (?! \d{1,12} (?: [&\s] | \Z ) ) ( [^&\s"'<>#\[\\]{4,}+ )""",
        1,
        flags=re.IGNORECASE,
    ),
    _shape(
        "secret",
        "--",
        rf"""--(?: [a-z]{{1,32}}- ){{0,4}} (?:
             (?: password|passwd|passphrase|secret|api-?key|access-key|secret-key ) [ ]++ ["']? (?! [-$] )
             (?P<secret> [^\s"'<\[]++ ) | token [ ]++ ["']? (?P<token> {_TOKEN} ) )""",
        "secret",
        "token",
        flags=re.IGNORECASE,
    ),
    _shape(
        "secret",
        "secret> key> token> password>",
        r"<[a-z:_-]{0,32}(?:secret|(?:access|api|secret|private)[_-]?key|token|password)> ([^<>\s\[]++) (?= </ )",
        1,
        flags=re.IGNORECASE,
    ),
    _shape(
        "password",
        "auth",
        r"""auth[ ]*=[ ]* \( [ ]* (?: "[^"\r\n]{0,128}" | '[^'\r\n]{0,128}' ) [ ]* , [ ]* ["']
            (?!\[redacted:) ([^"'\r\n]++)""",
        1,
    ),
    _shape(
        "secret",
        "password passphrase key token",
        rf"""(?: password | passphrase | api[ -]?key | (?:secret|access)[ ]key | token )
             [ ]++ (?: (?: is|was|to ) :? [ ]++ | ->[ ]* )? ["'`]? ({_MIXED})""",
        1,
        flags=re.IGNORECASE,
    ),
    _shape(
        "API key",
        "key token",
        r"""(?:x-[a-z-]{0,32}|api-|apikey)(?:key|token|secret) \\*["'] [ ]* , [ ]* b? \\*["']
            (?!\[redacted:) ([^"'\\\r\n]++)""",
        1,
        flags=re.IGNORECASE,
    ),
)
"""What is replaced, in this order: a shape that is certain of itself goes before one that reads a name."""
