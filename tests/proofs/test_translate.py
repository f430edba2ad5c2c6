"""What the translation of a rule's text looks like, what it refuses, and which texts it finds to be the same.

That a translation has the law of the text is shown in test_translation.py, by evaluation.
"""

from __future__ import annotations

import importlib.util
import re
import textwrap
from fractions import Fraction
from pathlib import Path

import pytest

from losslesscheck import Tree, rules
from losslesscheck.errors import Undecided
from losslesscheck.proofs import FOLDER
from losslesscheck.proofs import translate as translation
from losslesscheck.proofs.theorems import SCOPES
from losslesscheck.proofs.translate import Untranslatable, matching, texts, translate
from losslesscheck.proofs.translation.gallina import RESERVED, identifiers, same_up_to_names, variable
from losslesscheck.rule import Rule, rule
from tests.proofs.user_rules import USER_RULES

STEP = "def mine(m, p, q, accept, reject):"
TRIED = "def mine(m, p, q, accept, reject, tried=()):"
NODE = "def mine(m, p, siblings, accept, end):"
WHOLE = "def mine(m, p, q, tree):"
X = "x = m.draw(q)\n"
END = "\nreturn reject(p)"
ACCEPT = ":\n    return accept(x)" + END
REJECT = ":\n    return reject(q)" + END


@pytest.fixture
def written(tmp_path):
    """Makes a rule of a text, which stands in a file of its own."""

    def make(head: str, body: str, before: str = "", **facts) -> Rule:
        path = tmp_path / f"mine_{len(list(tmp_path.iterdir()))}.py"
        path.write_text(f"{before}\n{head}\n{textwrap.indent(body, '    ')}\n")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return rule(**facts)(module.mine)

    return make


REFUSED = {
    "while": (STEP, X + "while m.flip(p[x]):\n    pass" + END, "statement that is not translated"),
    "try": (STEP, "try:\n    x = m.draw(q)\nfinally:\n    pass" + END, "catches exceptions"),
    "with": (STEP, "with m:\n    pass" + END, "context manager"),
    "match": (STEP, "match p:\n    case _:\n        pass" + END, "statement that is not translated"),
    "assert": (STEP, X + "assert p[x] > 0" + END, "statement that is not translated"),
    "raise": (STEP, X + "if p[x] <= 0:\n    raise ValueError" + END, "statement that is not translated"),
    "yield": (STEP, "yield m.draw(q)", "is a generator"),
    "global": (STEP, "global x\nx = m.draw(q)" + END, "assigns a global name"),
    "nonlocal": (
        STEP,
        "x = m.one\ndef f():\n    nonlocal x\n    x = m.zero\n    return True\nf()" + END,
        "assigns a name of an outer",
    ),
    "expression": (STEP, "m.draw(q)" + END, "statement that is not translated"),
    "comprehension": (STEP, "xs = tuple(m.draw(q) for _ in range(2))" + END, "`tuple` is called"),
    "list comprehension": (STEP, "xs = [m.draw(q) for _ in range(2)]" + END, "is outside"),
    "list": (TRIED, "return reject(p, tried=[])", "is outside"),
    "dict": (STEP, X + "seen = {}" + END, "is outside"),
    "set": (TRIED, X + "return reject(p, tried={x})", "is outside"),
    "lambda": (STEP, "f = lambda x: True" + END, "is outside"),
    "walrus": (STEP, "if m.flip(p[x := m.draw(q)])" + ACCEPT, "is outside"),
    "formatted": (STEP, 'x = f"{p}"' + END, "formats text"),
    "identity": (
        STEP,
        X + "if x is None" + ACCEPT,
        "`x is None` is outside",
    ),
    "two": (
        STEP,
        X + "if m.flip(p[x] / 2)" + ACCEPT,
        "`2` is a constant 2 where a number",
    ),
    "minus one": (STEP, X + "if p[x] > -1" + ACCEPT, "compares a number with a constant -1"),
    "half": (STEP, "if m.flip(0.5):\n    return accept(m.draw(q))" + END, "`0.5` is outside"),
    "quotient of integers": (
        STEP,
        "if m.flip(1 / 2):\n    return accept(m.draw(q))" + END,
        "`1 / 2` is outside",
    ),
    "number of a fraction": (
        STEP,
        X + "if m.flip(m.number(Fraction(1, 2)))" + ACCEPT,
        "`Fraction` is called",
    ),
    "large number": (
        STEP,
        X + "if m.flip(m.number(3))" + ACCEPT,
        "constant 3 where a number",
    ),
    "truth as a number": (
        STEP,
        "if m.flip(True):\n    return accept(m.draw(q))" + END,
        "constant True where a number",
    ),
    "negative": (STEP, X + "if -p[x] < 0" + ACCEPT, "is outside"),
    "power": (STEP, X + "if m.flip(p[x] ** 2)" + ACCEPT, "is outside"),
    "floor division": (TRIED, "if len(tried) // 2 > 1:\n    return reject(p)" + END, "is outside"),
    "count minus count": (TRIED, "return reject(p, tried=tried[: len(tried) - 1])", "could be below zero"),
    "index minus too much": (
        TRIED,
        "for i in range(1, len(tried)):\n    x = tried[i - 2]" + END,
        "could be below zero",
    ),
    "index minus in a loop": (
        TRIED,
        "k = 1\nfor i in range(2):\n    j = k - 1\n    k = j" + END,
        "could be below zero",
    ),
    "constant minus count": (TRIED, "return reject(p, tried=tried[: 2 - len(tried)])", "could be below zero"),
    "count as a number": (
        TRIED,
        X + "if m.flip(p[x] * len(tried))" + ACCEPT,
        "natural number where a number",
    ),
    "counted number": (STEP, X + "k = 0\nk += p[x]" + END, "`k` is a natural number where a number"),
    "number of a token": (
        STEP,
        "if m.flip(p[0]):\n    return accept(m.draw(q))" + END,
        "constant 0 where a token",
    ),
    "last entry": (TRIED, "return accept(tried[-1])", "constant -1 where a natural number"),
    "slice with a step": (TRIED, "return reject(p, tried=tried[::2])", "is outside"),
    "slice with two ends": (TRIED, "return reject(p, tried=tried[1:2])", "is outside"),
    "unpacking": (TRIED, "x, y = tried\nreturn accept(x)", "statement that is not translated"),
    "nested unpacking": (TRIED, "(x, y), z = (1, 2), 3" + END, "is outside"),
    "chained assignment": (STEP, "x = y = m.draw(q)\nreturn accept(x)", "statement that is not translated"),
    "assignment to an entry": (STEP, X + "p[x] = m.zero" + END, "statement that is not translated"),
    "tokens in front": (TRIED, X + "return reject(p, tried=(x, *tried))", "is outside"),
    "growing in place": (TRIED, X + "tried += (x,)\nreturn reject(p, tried=tried)", "is outside"),
    "unknown attribute": (STEP, "x = p.total" + END, "uses the attribute total"),
    "top": (STEP, "x = m.top(q, 1)[0]\nreturn accept(x)", "`m.top` is no primitive that is translated"),
    "call": (STEP, "return m.call((), lambda: accept(m.draw(q)))", "returns what is not translated"),
    "keyword": (STEP, "return reject(m.norm(vector=p))", "other arguments than are translated"),
    "two values of norm": (STEP, "return reject(m.norm(p, q, otherwise=q))", "other arguments"),
    "named residual": (STEP, "return reject(residual=p)", "other arguments"),
    "unknown keyword": (TRIED, "return reject(p, seen=tried)", "other arguments"),
    "tried by place": (TRIED, "return reject(p, tried)", "hands on tokens tried"),
    "tried where it is not taken": (STEP, X + "return reject(p, tried=(x,))", "hands on tokens tried"),
    "stars": (
        STEP,
        X + "pair = (x, x)\nif m.flip(m.min(*pair))" + ACCEPT,
        "other arguments",
    ),
    "double stars": (STEP, "return reject(p, **q)", "other arguments"),
    "equal numbers": (
        STEP,
        X + "if p[x] == q[x]" + ACCEPT,
        "compares a number with a number",
    ),
    "ordered tokens": (
        STEP,
        X + "if x < m.argmax(p)" + ACCEPT,
        "compares a token with a token",
    ),
    "equal tuples": (
        TRIED,
        "if tried == ():\n    return reject(p)" + END,
        "compares a tuple of tokens with a tuple of tokens",
    ),
    "equal vectors": (STEP, "if p == q:\n    return reject(p)" + END, "compares a vector with a vector"),
    "truth of a number": (STEP, X + "if p[x]" + ACCEPT, "where a bool is needed"),
    "truth of tokens": (TRIED, "if tried" + REJECT, "where a bool is needed"),
    "truth of an integer": (STEP, "if 1" + REJECT, "where a bool is needed"),
    "or of a number": (STEP, X + "share = p[x] or q[x]" + END, "where a bool is needed"),
    "coin with another name": (
        STEP,
        X + "a = m.coin()\nb = a\nif b < p[x]" + ACCEPT,
        "gives a coin another name",
    ),
    "coin kept for a draw": (
        STEP,
        "coin = m.coin()\nreturn accept(m.draw(q, coin))",
        "a coin that is not made for it",
    ),
    "coin on the right": (
        STEP,
        X + "coin = m.coin()\nif p[x] > coin" + ACCEPT,
        "compares a number with a coin",
    ),
    "coin above": (
        STEP,
        X + "coin = m.coin()\nif coin > p[x]" + ACCEPT,
        "compares a coin with a number",
    ),
    "coin between": (
        STEP,
        X + "coin = m.coin()\nif 0 < coin < p[x]" + ACCEPT,
        "compares a constant 0 with a coin",
    ),
    "coin on a grid": (
        STEP,
        X + "coin = m.coin(8)\nif coin < p[x]" + ACCEPT,
        "other arguments",
    ),
    "coin as a number": (
        STEP,
        "coin = m.coin()\nif m.flip(coin)" + REJECT,
        "is a coin where a number",
    ),
    "coin times coin": (
        STEP,
        "a, b = m.coin(), m.coin()\nif a * b < 1" + REJECT,
        "is a coin where a number",
    ),
    "one of two coins": (
        STEP,
        X + "a, b = m.coin(), m.coin()\nif (a if p[x] < 1 else b) < 1" + REJECT,
        "compares a coin with",
    ),
    "coin of a function": (
        STEP,
        X + "def low(c):\n    return c < p[x]\ncoin = m.coin()\nif low(coin)" + ACCEPT,
        "must keep its name",
    ),
    "perhaps no value": (STEP, X + "if m.flip(p[x]):\n    y = x\nreturn accept(y)", "`y` may have no value"),
    "the loop's last item": (
        TRIED,
        X + "for x0 in tried:\n    pass\nreturn accept(x0)",
        "`x0` may have no value",
    ),
    "a value of the loop": (TRIED, "for t in tried:\n    y = t\nreturn accept(y)", "`y` may have no value"),
    "a value of the last time": (
        TRIED,
        "for t in tried:\n    if t in tried:\n        y = t\n    else:\n        return accept(y)" + END,
        "`y` may have no value",
    ),
    "loop over a known name": (
        TRIED,
        X + "for x in tried:\n    pass\nreturn accept(x)",
        "has a value before the loop",
    ),
    "loop with an else": (
        TRIED,
        "for t in tried:\n    pass\nelse" + REJECT,
        "a loop with an else",
    ),
    "loop over pairs": (TRIED, "for i, t in enumerate(tried):\n    pass" + END, "over several variables"),
    "loop with a step": (TRIED, "for i in range(1, 3, 2):\n    pass" + END, "other arguments"),
    "loop over a vector": (STEP, "for x in p:\n    pass" + END, "vector where a tuple of tokens"),
    "reversed loop": (TRIED, "for t in reversed(tried):\n    pass" + END, "`reversed` is called"),
    "another type in a loop": (
        TRIED,
        X + "y = 0\nfor t in tried:\n    y = p[t]" + END,
        "`y` is a nat before the loop and a number in it",
    ),
    "nothing in a loop": (
        TRIED,
        "y = None\nfor t in tried:\n    y = t" + END,
        "constant None, and the loop changes it",
    ),
    "underscore": (TRIED, "for _ in tried:\n    x = _" + END, "`_` may have no value"),
    "no return": (STEP, X + "if m.flip(p[x]):\n    return accept(x)", "may end without returning"),
    "empty return": (STEP, "return", "statement that is not translated"),
    "kept outcome": (STEP, X + "outcome = accept(x)\nreturn outcome", "is not returned at once"),
    "another outcome": (STEP, X + "return x", "returns what is not translated"),
    "two outcomes": (STEP, X + "return accept(x) or reject(p)", "returns what is not translated"),
    "rejected token": (STEP, X + "return reject(x)", "is a token where a vector"),
    "ended at a number": (NODE, "return end(m.sum(p))", "is a number where a token"),
    "machine bound again": (STEP, "m = p" + END, "`m` is given another meaning"),
    "continuation bound again": (STEP, "accept = p" + END, "`accept` is given another meaning"),
    "machine as a value": (STEP, "n = m" + END, "gives a machine another name"),
    "machine of a function": (
        STEP,
        "def f(m):\n    return True\nif f(p)" + REJECT,
        "gives another meaning to an argument",
    ),
    "function that narrows a coin": (
        TRIED,
        X
        + "coin = m.coin()\ndef f():\n    return coin < p[x]\nfor t in tried:\n    if f():\n        pass"
        + END,
        "`coin` may have no value",
    ),
    "function with a default": (
        STEP,
        X + "def f(y=x):\n    return x == y\nif f()" + ACCEPT,
        "other than plain arguments",
    ),
    "function that ends": (
        STEP,
        X + "def f():\n    pass\nif f()" + ACCEPT,
        "may end without a value",
    ),
    "function with a loop": (
        TRIED,
        "def f():\n    for t in tried:\n        return True\n    return False\nif f():\n    return reject(q)"
        + END,
        "is outside",
    ),
    "function of a number": (
        STEP,
        X + "def f():\n    return p[x]\nif m.flip(f())" + ACCEPT,
        "where a bool is needed",
    ),
    "function as a value": (STEP, "def f():\n    return True\ng = f" + END, "gives a function another name"),
    "function defined twice": (
        STEP,
        "def f():\n    return True\ndef f():\n    return False" + END,
        "is given another meaning",
    ),
    "recursion": (STEP, "def f():\n    return f()\nif f()" + REJECT, "`f` is called"),
    "recursion of two": (
        STEP,
        "def f():\n    return g()\ndef g():\n    return f()\nif f()" + REJECT,
        "`f` is called",
    ),
    "too many arguments": (
        STEP,
        "def f(y):\n    return True\nif f(p, q)" + REJECT,
        "other arguments",
    ),
    "Python's min": (STEP, X + "if m.flip(min(p[x], q[x]))" + ACCEPT, "`min` is called"),
    "local name of a builtin": (TRIED, "if len(tried) > 0:\n    len = p" + END, "`len` is called"),
    "foreign letters": (STEP, "γ = m.draw(q)\nreturn accept(γ)", "a name that Coq may not read"),
    "too many branches": (
        STEP,
        X + "if m.flip(p[x]):\n    pass\n" * 12 + END,
        "too many branches",
    ),
    "the tree's nodes": (
        WHOLE,
        "for node in tree.children:\n    pass\nreturn (m.draw(p(())),)",
        "`tree.children` is outside",
    ),
    "the tree's size": (
        WHOLE,
        "for _ in range(tree.size):\n    pass\nreturn (m.draw(p(())),)",
        "`tree.size` is outside",
    ),
    "no tree": ("def mine(m, p, q):", "return (m.draw(p(())),)", "builds its own"),
    "a token alone": (WHOLE, "return m.draw(p(()))", "is a token where a tuple of tokens"),
    "context of a token": (
        WHOLE,
        "x = m.argmax(p(()))\nreturn (x, m.draw(p(x)))",
        "is a token where a tuple of tokens",
    ),
    "another default": (
        "def mine(m, p, q, accept, reject, tried=(1,)):",
        "return reject(p)",
        "a default value",
    ),
    "no default": ("def mine(m, p, q, accept, reject, tried):", "return reject(p)", "a default value"),
    "default of an argument": (
        "def mine(m, p, q, accept, reject=None):",
        "return reject(p)",
        "a default value",
    ),
    "positional argument": (
        "def mine(m, p, q, accept, reject, tried=(), /):",
        "return reject(p)",
        "the arguments are not",
    ),
    "fraction as a count": (
        WHOLE,
        "for i in range(1, tree.depth + 1.0):\n    pass\nreturn (m.draw(p(())),)",
        "`1.0` is outside",
    ),
    "truth as a count": (
        WHOLE,
        "for i in range(1, tree.depth + True):\n    pass\nreturn (m.draw(p(())),)",
        "constant True where a natural number",
    ),
    "truth below a range": (
        WHOLE,
        "for i in range(True, tree.depth + True):\n    pass\nreturn (m.draw(p(())),)",
        "constant True where a natural number",
    ),
    "minus truth": (TRIED, "k = -True" + END, "is outside"),
    "count that grows": (
        STEP,
        "def f(k):\n" + "    k = k * k\n" * 9 + "    return k > 0\nif f(9)" + REJECT,
        "is outside",
    ),
    "captured after the end": (
        STEP,
        X + "y = x\ndef f():\n    return x == y\n    match x:\n        case y:\n            pass\n"
        "if f()" + ACCEPT,
        "`y` may have no value",
    ),
    "captured builtin": (
        TRIED,
        "if len(tried) > 0:\n    return reject(q)" + END + "\nmatch p:\n    case len:\n        pass",
        "`len` is called",
    ),
    "bound in a default after the end": (
        STEP,
        X + "y = x\ndef f():\n    return x == y\n    def g(z=(y := x)):\n        pass\nif f()" + ACCEPT,
        "`y` may have no value",
    ),
    "long chain": (
        STEP,
        "def f():\n    return True\n"
        + "".join(f"a{i} = {' + '.join(['p'] * 40)}\n" for i in range(1, 900))
        + END,
        "too long",
    ),
    "vague arguments": (
        "def mine(m, p, q, accept, reject, *rest):",
        "return reject(p)",
        "the arguments are not",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_known_is_refused(name, written):
    head, body, message = REFUSED[name]
    with pytest.raises(Undecided, match=message):
        translate(written(head, body, "from fractions import Fraction"))


@pytest.mark.parametrize(
    ("before", "body", "message"),
    [
        ("def f(x):\n    return True\n", "x = m.draw(q)\nif f(x):\n    return accept(x)", "`f` is called"),
        ("SHARE = 1\n", "if m.flip(SHARE):\n    return reject(q)", "`SHARE` is taken from outside"),
        ("def len(x):\n    return 1\n", "if len(p) > 0:\n    return reject(q)", "`len` is called"),
        ("def range(n):\n    return (0,)\n", "for i in range(2):\n    pass", "`range` is called"),
        ("def bool(x):\n    return x\n", "if bool(True):\n    pass", "`bool` is called"),
    ],
    ids=["function", "constant", "another len", "another range", "another bool"],
)
def test_what_is_outside_the_rule_is_refused(before, body, message, written):
    with pytest.raises(Untranslatable, match=message):
        translate(written(STEP, body + END, before))


def test_a_text_that_grows_with_every_comparison_is_refused(written):
    share = "p[x]"
    for _ in range(20):
        share = f"(m.one if 0 < {share} < 1 else m.zero)"
    with pytest.raises(Untranslatable, match=r"more than 100000 characters|too many branches"):
        translate(written(STEP, X + f"if {share} < 1" + ACCEPT))


@pytest.mark.parametrize(
    ("annotation", "before", "message"),
    [
        ("x", "", "`x` is an annotation that is evaluated"),
        ("later", "", "`later` is an annotation that is evaluated"),
        ("y", "y = 1\n", "`y` is an annotation that is evaluated"),
        ("float", "", None),
        ("Known", "Known = int\n", None),
        ("'later'", "", None),
        ("None", "", None),
        ("later", "from __future__ import annotations\n", None),
        ("m.norm(p - p)", "from __future__ import annotations\n", None),
    ],
)
@pytest.mark.parametrize("head", ["def f(y: {}):", "def f(y) -> {}:"])
def test_an_annotation_that_may_fail_is_refused(head, annotation, before, message, written):
    body = f"{head.format(annotation)}\n    return True\n{X}if f(x){ACCEPT}"
    mine = written(STEP, body, before)
    if message is None:
        assert "Return (Accept x)" in translate(mine)
    else:
        with pytest.raises(Undecided, match=message):
            translate(mine)


def test_an_annotation_that_is_no_name_is_refused(written):
    with pytest.raises(Undecided, match=r"other than plain arguments|an annotation"):
        translate(written(STEP, "def f(y: p[m.draw(p)]):\n    return True" + END))


@pytest.mark.parametrize("called", ["test", "accept"])
def test_an_exceptions_name_is_not_given_another_meaning(called, written):
    """Constant arguments of an exception are left out of the text that is read."""
    body = X + "def test(x):\n    return True\nif test(x, 'why'):\n    return accept(x, 'why')" + END
    with pytest.raises(Untranslatable, match=f"`{called}` is also the name of an exception outside"):
        translate(written(STEP, body, f"{called} = ValueError"))


def test_a_refusal_names_the_rule_and_the_line_of_its_file(written):
    mine = written(STEP, "x = m.draw(q)\n\nif m.flip(p[x] * 3)" + ACCEPT, "# one\n# two")
    with pytest.raises(Untranslatable) as refused:
        translate(mine)
    number = (
        Path(mine.function.__code__.co_filename).read_text().splitlines().index("    if m.flip(p[x] * 3):")
        + 1
    )
    assert str(refused.value) == (
        f"mine, line {number}: `3` is a constant 3 where a number (of literal ones 0 or 1) is needed"
    )


def test_a_fraction_other_than_0_and_1_is_refused():
    bound = rules.get("target_only").bind(threshold_acc=Fraction(1, 2))
    with pytest.raises(
        Untranslatable, match=r"threshold_acc = 1/2: of fractions only 0 and 1 are translated"
    ):
        translate(bound)


def test_a_rule_that_builds_its_own_tree_is_refused():
    with pytest.raises(Untranslatable, match="standalone, line 44: it is handed no token tree"):
        translate(rules.get("standalone"))


def test_a_parameter_decides_which_text_is_translated():
    undefined = rules.get("without_replacement").bind(exhausted="undefined")
    assert "norm_or" in translate(rules.get("without_replacement"))
    assert "norm_or" not in translate(undefined)


def test_the_definition_has_the_name_that_is_asked_for():
    assert translate(rules.get("chain"), "another one").startswith("Definition another_one_text : step W")


def test_variables_that_coq_or_the_texts_use_are_renamed(written):
    mine = written(
        NODE,
        "norm, fun, next, norm_ = m.norm(p), m.argmax(p), m.one, p\n"
        "for token in siblings:\n"
        "    if next <= norm[token] or fun == token:\n"
        "        return accept(token)\n"
        "return end(m.draw(m.norm(norm + norm_)))",
    )
    text = translate(mine)
    assert "let norm_ := norm p in" in text
    assert "let norm__ := p in" in text
    assert "Draw (norm (plus norm_ norm__)) (fun x => Return (Stop x))" in text


@pytest.mark.parametrize("translated", [*map(rules.get, SCOPES), *USER_RULES], ids=lambda r: r.name)
def test_every_word_of_a_translation_is_reserved_or_a_variable_of_the_rule(translated):
    words = identifiers(translate(translated).partition(":=")[2])
    own = {variable(word) for word in identifiers(translated.text)}
    drawn = {word for word in words if re.fullmatch(r"[xyz]\d*", word)}
    assert words <= RESERVED | own | drawn | {"tried", "_"}


def test_what_a_function_is_given_and_binds_stands_in_the_text_though_it_is_not_used(written):
    mine = written(
        STEP,
        X + "def f(y, ignored):\n    rest = m.norm(m.without(p, y))\n    best = m.argmax(p)\n"
        "    return x == best\nif f(x, q[x] / p[x])" + ACCEPT,
    )
    assert translate(mine).endswith(
        "Draw q (fun x =>\n"
        "  let z := q x / p x in\n"
        "  let x1 := norm (without p [:: x]) in\n"
        "  if x == argmax x0 p then Return (Accept x)\n"
        "  else Return (Reject p [::]))."
    )


def test_a_value_that_is_used_twice_is_written_once(written):
    """Put in where it is used, it would double with every line."""
    squared = "def f(v):\n" + "    v = v * v\n" * 30 + "    return m.flip(v)\n"
    assert len(translate(written(STEP, squared + X + "if f(p[x])" + ACCEPT))) < 2000


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("a = m.zero if p[x] < 1 else m.one", "if p x < 1 then (0 : number W) else (1 : number W)"),
        ("a = p[x] if p[x] < 1 else m.one", "if p x < 1 then p x else 1 in"),
        ("for y in ():\n    pass", "each ([::] : seq (token W)) tt"),
        ("a = len(())", "let a := size ([::] : seq (token W)) in"),
        ("a = m.one if p[x] < 1 or True else m.zero", "let a := if p x < 1 then "),
        ("a = p if False else q", "let a := q in"),
    ],
    ids=["two literals", "one literal", "no items", "no tokens", "the same literal", "known"],
)
def test_literals_have_a_type(body, text, written):
    assert text in translate(written(STEP, X + body + END))


# Which texts are the same


@pytest.mark.parametrize("name", SCOPES)
def test_a_rule_of_the_library_matches_itself(name):
    assert matching(rules.get(name)) == name


def test_a_copy_matches_whatever_its_names_and_its_layout(written):
    body = (
        '"""Mine."""\n'
        "drafted = machine.draw(draft)  # first\n"
        "if machine.flip(machine.min(1, target[drafted] / draft[drafted])):\n"
        "    return accept(drafted)\n"
        "else:\n"
        "    return reject(\n        machine.norm(machine.relu(target - draft))\n    )"
    )
    mine = "def mine(machine, target, draft, accept, reject):"
    assert matching(written(mine, body)) == "specinfer"
    assert matching(written(mine, body, single_path=True, tree=Tree.chain(2))) == "chain"


CHANGES = {
    "answers exchanged": ("if m.flip", "if not m.flip"),
    "not normalised": ("m.norm(m.relu(p - q))", "m.relu(p - q)"),
    "p and q exchanged": ("(p - q)", "(q - p)"),
    "drawn from p": ("m.draw(q)", "m.draw(p)"),
    "another token": ("return accept(x)", "return accept(m.argmax(p))"),
    "zero for one": ("m.one", "m.zero"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_edited_copy_does_not_match(change, written):
    old, new = CHANGES[change]
    body = (
        "x = m.draw(q)\n"
        "if m.flip(m.min(m.one, p[x] / q[x])):\n"
        "    return accept(x)\n"
        "return reject(m.norm(m.relu(p - q)))"
    )
    assert matching(written(STEP, body)) == "specinfer"
    assert body.count(old) == 1
    assert matching(written(STEP, body.replace(old, new))) is None


SPECINFER = (
    "x = m.draw(q)\nif m.flip(m.min(m.one, p[x] / q[x])):\n    return accept(x)\n"
    "return reject(m.norm(m.relu(p - q)))"
)
TEST = "m.flip(m.min(m.one, p[x] / q[x]))"


def asked(arguments: str, given: str, *before: str) -> str:
    """SPECINFER, its test in a function of its own."""
    lines = [*before, f"return {TEST}"]
    function = f"def test({arguments}):\n" + "".join(f"    {line}\n" for line in lines)
    return function + SPECINFER.replace(TEST, f"test({given})")


EVALUATED = {
    "unused argument": asked("r", "p[x] / (p[x] - p[x])"),
    "unused argument, no mass": asked("r", "m.norm(p - p)"),
    "unused argument, no entry": asked("r", "(x,)[1]"),
    "unused argument, no token left": asked("r", "m.uniform(without=(x, m.argmax(p)))"),
    "unused variable": asked("", "", "share = q[x] / p[x]"),
    "unused variable, twice": asked("", "", "share = m.norm(p - q)", "share = x"),
    "unused variable of a function in a function": asked("", "", f"return other({TEST}, 1 / p[x])").replace(
        "def test", "def other(a, b):\n    return a\ndef test"
    ),
    "argument used in one branch": (
        "def test(r):\n    if p[x] < q[x]:\n        return m.flip(r)\n    return True\n"
        + SPECINFER.replace(TEST, "test(p[x] / q[x])")
    ),
    "unused value": "unused = m.norm(p - p)\n" + SPECINFER,
    "unused value among others": SPECINFER.replace("x = m.draw(q)", "x, y = m.draw(q), 1 / m.zero"),
    "unused value of an operation": "a = m.one\na /= m.zero\n" + SPECINFER,
    "or True": SPECINFER.replace("p[x] / q", "(p if 0 < q[x] / p[x] or True else q)[x] / q"),
    "and False": SPECINFER.replace("(m.relu", "(q if 1 / p[x] < 1 and False else m.relu"),
    "True after": SPECINFER.replace("p[x] / q", "(p if (q[x] / p[x] < 1 or True) else p)[x] / q"),
    "not": SPECINFER.replace("p[x] / q", "(p if not (1 / p[x] < 0 and False) else q)[x] / q"),
    "chosen test": SPECINFER.replace("p[x] / q", "(p if (True if 1 / p[x] < 1 else True) else q)[x] / q"),
    "outcome": SPECINFER.replace("accept(x)", "accept(x) if 1 / p[x] < 1 or True else reject(p)"),
    "condition": SPECINFER.replace("if m", "if (1 / p[x] < 1 or True) and m"),
}


@pytest.mark.parametrize("name", EVALUATED)
def test_what_is_evaluated_is_not_lost(name, written):
    assert matching(written(STEP, EVALUATED[name])) is None


@pytest.mark.parametrize(
    "body",
    [
        asked("r", "p"),
        asked("r, s", "1, m.zero"),
        asked("r", "m.argmax(p)"),
        asked("", "", "best = m.argmax(q)", "none = ()"),
        SPECINFER.replace("p[x] / q", "(p if True else 1 / m.zero)[x] / q"),
        SPECINFER.replace("if m", "if not False and m"),
    ],
    ids=["name", "literals", "best token", "variables", "never reached", "known"],
)
def test_what_cannot_fail_may_be_left_out(body, written):
    assert matching(written(STEP, body)) == "specinfer"


@pytest.mark.parametrize("bound", ["length + 1.0", "length + True", "length + m.one", "1 + length"])
def test_another_end_of_a_loop_does_not_match(bound, written):
    text = rules.get("block_verification").text
    body = textwrap.dedent(text[text.index("    length = ") :])
    assert matching(written(WHOLE, body, "Context = tuple", single_path=True)) == "block_verification"
    body = body.replace("range(1, length + 1)", f"range(1, {bound})")
    assert matching(written(WHOLE, body, "Context = tuple", single_path=True)) is None


def test_a_copy_must_suppose_what_the_theorem_supposes():
    without = rule(rules.get("target_only").function, parameters=rules.get("target_only").parameters)
    assert matching(without) is None
    assert (
        matching(rule(distinct_siblings=True, parameters=without.parameters)(without.function))
        == "target_only"
    )
    assert matching(rule(rules.get("tree_greedy").function)) is None


@pytest.mark.parametrize("name", [*rules.broken(), "standalone"])
def test_what_has_no_theorem_matches_nothing(name):
    assert matching(rules.get(name)) is None


def test_other_parameters_do_not_match():
    assert matching(rules.get("without_replacement").bind(exhausted="undefined")) is None
    assert matching(rules.get("blockwise").bind(minimum_block=2)) is None
    assert matching(rules.get("target_only").bind(threshold_acc=Fraction(1, 2))) is None


def test_a_rule_is_compared_with_the_committed_text(monkeypatch, tmp_path):
    """A rule of the library whose Python text is edited is no longer the one that is proved."""
    committed = (FOLDER / "texts.v").read_text()
    (tmp_path / "texts.v").write_text(committed.replace("if best == token_", "if token_ == best"))
    monkeypatch.setattr(translation, "FOLDER", tmp_path)
    assert matching(rules.get("tree_greedy")) is None
    assert matching(rules.get("naive_sampling")) == "naive_sampling"


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("fun x y => p x", "fun y x => p y", True),
        ("fun x =>\n  x", "fun z => z", True),
        ("fun x y => x", "fun x y => y", False),
        ("fun x y => x", "fun x x => x", False),
        ("fun x x => x", "fun x y => x", False),
        ("norm p", "sum p", False),
        ("norm p", "p p", False),
        ("0 < x", "1 < x", False),
        ("x", "x x", False),
    ],
)
def test_texts_are_the_same_up_to_names(a, b, same):
    assert same_up_to_names(a, b) == same


def test_the_file_of_texts_has_a_definition_for_every_rule():
    assert re.findall(r"Definition (\w+)_text\b", texts([rules.get("chain"), USER_RULES[0]])) == [
        "chain",
        "swapped",
    ]
