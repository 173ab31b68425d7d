"""Mutants of C sources: where one may be put, and what it says there.

A small tokenizer leaves out comments, strings and preprocessor lines; a walk over the tokens leaves out everything that is not the body of a
function (option tables, static data), and in bodies static data, asserts and the sizes of arrays. What remains are sites. A mutant never changes
the number of lines. Nothing here reads a file or runs anything: `tools/mutate` does.
"""
import collections
import re

Token = collections.namedtuple("Token", "kind text start end")
# A mutant: the bytes [start, end) of the file become `text`.
Mutant = collections.namedtuple("Mutant", "file function operator start end text line before after")

OPERATORS = ("compare", "off_by_one", "dropped_call", "lost_error", "and_or", "negation")

COMPARISONS = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",)}
KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof", "do", "else", "case", "goto", "break", "continue", "default", "_Alignof", "typeof"}
CONTROL = {"if", "for", "while", "switch"}
ASSERTS = {"assert", "_Static_assert", "static_assert"}
# Statements without which nothing that a test could see is different.
SILENT_CALLS = ASSERTS | {"va_end", "posix_fadvise", "madvise"}
# On Linux these do nothing but spoil what is not used any more.
SILENT_CALLS |= {"pthread_mutex_destroy", "pthread_mutexattr_destroy", "pthread_condattr_destroy", "pthread_rwlock_destroy", "sem_destroy"}
# A leak, which only a build with AddressSanitizer notices.
LEAKING_CALLS = {"free", "json_decref"}

LEXICON = re.compile(r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\])*")
  | (?P<char>[uUL]?'(?:\\.|[^'\\])*')
  | (?P<number>(?:0[xX][0-9a-fA-F]+|\.?\d)(?:[eEpP][+-]|[\w.])*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<punct>->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\.\.\.|.)
""", re.VERBOSE | re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.MULTILINE | re.DOTALL)
INTEGER = re.compile(r"^(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)$")


def tokenize(source):
    """The tokens of a source without comments and preprocessor lines."""
    tokens, at = [], 0
    while at < len(source):
        line_start = source.rfind("\n", 0, at) + 1
        directive = DIRECTIVE.match(source, at) if not source[line_start:at].strip() else None
        if directive:
            at = directive.end()
            continue
        match = LEXICON.match(source, at)
        if match.lastgroup != "space":
            tokens.append(Token(match.lastgroup, match.group(), match.start(), match.end()))
        at = match.end()
    return tokens


def pair_up(tokens):
    """The index of the bracket that belongs to each bracket."""
    partner, stack = {}, []
    closing = {")": "(", "]": "[", "}": "{"}
    for i, token in enumerate(tokens):
        if token.kind != "punct":
            continue
        if token.text in "([{":
            stack.append(i)
        elif token.text in closing:
            if not stack or tokens[stack[-1]].text != closing[token.text]:
                raise ValueError(f"unbalanced {token.text} at byte {token.start}")
            partner[i] = stack.pop()
            partner[partner[i]] = i
    return partner


def functions(tokens, partner):
    """(name, first, last) of each body: the indexes of its braces."""
    i = 0
    while i < len(tokens):
        if tokens[i].text != "{" or tokens[i].kind != "punct":
            i += 1
            continue
        name = None
        if i > 0 and tokens[i - 1].text == ")":
            before = partner[i - 1] - 1
            if before >= 0 and tokens[before].kind == "word":
                name = tokens[before].text
        if name and name != "__attribute__":
            yield name, i, partner[i]
        i = partner[i] + 1


def declares(tokens, i):
    """Whether the name at i is declared there: `char name`, `char *name`, `char a, *name`."""
    if tokens[i].kind != "word":
        return False
    if tokens[i - 1].text != "*":
        return tokens[i - 1].kind == "word" and tokens[i - 1].text not in KEYWORDS
    return tokens[i - 2].text == "," or tokens[i - 2].kind == "word" and tokens[i - 3].text in (";", "{", "}", "(", "const", "struct", "unsigned")


def left_out(tokens, partner, first, last):
    """The indexes in a body that no mutant may touch: asserts, static data, sizes of arrays, plain zero initializers."""
    out = set()
    for i in range(first, last):
        text = tokens[i].text
        if text in ASSERTS and tokens[i + 1].text == "(":
            out.update(range(i, partner[i + 1] + 1))
        elif text == "static":
            end = i
            while tokens[end].text != ";":
                end = partner.get(end, end) + 1
            out.update(range(i, end + 1))
        elif text == "[" and (i - 1 in out or declares(tokens, i - 1)):
            out.update(range(i, partner[i] + 1))
        elif text == "{" and tokens[i + 1].text == "0" and tokens[i + 2].text == "}":
            out.update(range(i, i + 3))
    return out


def begins_statement(tokens, partner, i):
    before = tokens[i - 1]
    if before.text in (";", "{", "}") or before.text == "else":
        return True
    return before.text == ")" and before.kind == "punct" and tokens[partner[i - 1] - 1].text in CONTROL


def call_statement(tokens, partner, i):
    """The name that a statement at i calls and the index of the ; behind it, or None."""
    if tokens[i].kind != "word" or tokens[i].text in KEYWORDS or not begins_statement(tokens, partner, i):
        return None
    while tokens[i + 1].text in ("->", ".") and tokens[i + 2].kind == "word":
        i += 2
    if tokens[i + 1].text != "(" or tokens[partner[i + 1] + 1].text != ";":
        return None
    return tokens[i].text, partner[i + 1] + 1


def lost_error(tokens, i):
    """Whether a return at i gives back an error: `return -EINVAL`, `return strata_fail…(…)`, `return rc;`."""
    one, two = tokens[i + 1], tokens[i + 2]
    if one.text == "-":
        return two.kind == "word" and (two.text == "errno" or re.match(r"E[A-Z0-9]+$", two.text))
    return one.kind == "word" and (one.text.startswith("strata_fail") and two.text == "(" or one.text == "rc" and two.text == ";")


def unread_mode(tokens, partner, i):
    """Whether a number is the mode of an open() that makes no file: the kernel does not look at it."""
    opening = partner.get(i + 1) if tokens[i + 1].text == ")" else None
    return opening is not None and tokens[opening - 1].text in ("open", "openat") and not any(
        tokens[k].text in ("O_CREAT", "O_TMPFILE") or tokens[k].kind == "word" and "flags" in tokens[k].text for k in range(opening, i))


def statement_end(tokens, partner, i):
    while tokens[i].text != ";":
        i = partner.get(i, i) + 1
    return i


def changes(tokens, partner, i, sanitized):
    """(operator, last index, replacement) of each mutant that begins at token i."""
    token = tokens[i]
    if token.kind == "punct" and token.text in COMPARISONS:
        for other in COMPARISONS[token.text]:
            yield "compare", i, other
    elif token.kind == "number" and (match := INTEGER.match(token.text)):
        value = int(match[1], 0) if match[1][:2].lower() == "0x" or match[1] == "0" or match[1][0] != "0" else int(match[1], 8)
        show = hex if match[1][:2].lower() == "0x" else (oct_c if match[1][0] == "0" and len(match[1]) > 1 else str)
        if unread_mode(tokens, partner, i):
            return
        roomier = tokens[i - 2].text == "calloc" and tokens[i - 1].text == "("  # more room than is used is not seen
        for other in (value - 1,) if roomier else (value + 1, value - 1):
            if other >= 0:
                yield "off_by_one", i, show(other) + match[2]
    elif token.text in ("&&", "||"):
        yield "and_or", i, "||" if token.text == "&&" else "&&"
    elif token.text == "!" and token.kind == "punct" and "!" not in (tokens[i - 1].text, tokens[i + 1].text):
        yield "negation", i, ""
    elif token.text == "return" and lost_error(tokens, i):
        yield "lost_error", statement_end(tokens, partner, i), "return 0;"
    elif call := call_statement(tokens, partner, i):
        if call[0] not in SILENT_CALLS and (sanitized or call[0] not in LEAKING_CALLS):
            yield "dropped_call", call[1], ";"


def oct_c(value):
    return f"0{value:o}"


def squeeze(text):
    return " ".join(text.split())


def mutants(file, source, sanitized=False):
    """Every mutant of a source, in its order."""
    tokens = tokenize(source)
    partner = pair_up(tokens)
    for name, first, last in functions(tokens, partner):
        out = left_out(tokens, partner, first, last)
        for i in range(first + 1, last):
            if i in out:
                continue
            for operator, end_at, text in changes(tokens, partner, i, sanitized):
                start, end = tokens[i].start, tokens[end_at].end
                text += "\n" * source.count("\n", start, end)
                line_start = source.rfind("\n", 0, start) + 1
                line_end = source.find("\n", end)
                yield Mutant(file, name, operator, start, end, text, source.count("\n", 0, start) + 1,
                             squeeze(source[line_start:line_end]), squeeze(source[line_start:start] + text + source[end:line_end]))


def apply(source, mutant):
    return source[:mutant.start] + mutant.text + source[mutant.end:]


def schema(source, numbered, head):
    """A source with many mutants in it, of which one is chosen when it runs, and {mutant: the mark of its function}, the least of the numbers in it.

    `numbered` is {number: mutant}. The body of a function becomes `{ if (live == 17) { body with mutant 17 } else { body }}`: no expression has to be
    understood for that. Labels are made local to each copy; what a line is numbered stays (asserts print it).
    """
    tokens = tokenize(source)
    partner = pair_up(tokens)
    pieces, marks, at = [head, "\n#line 1\n"], {}, 0
    for _, first, last in functions(tokens, partner):
        opening, closing = tokens[first].end, tokens[last].start
        inside = {number: mutant for number, mutant in numbered.items() if opening <= mutant.start < closing}
        if not inside:
            continue
        labels = sorted({tokens[i + 1].text for i in range(first, last) if tokens[i].text == "goto"})
        begin = (f"__label__ {', '.join(labels)};" if labels else "") + f"\n#line {source.count(chr(10), 0, opening) + 1}\n"
        body = source[opening:closing]
        pieces += [source[at:opening], f" const unsigned strata_live = strata_mutant_live({min(inside)});\n"]
        for number, mutant in sorted(inside.items()):
            copy = body[:mutant.start - opening] + mutant.text + body[mutant.end - opening:]
            pieces.append(f"if (strata_live == {number}) {{ {begin}{copy}}} else ")
        pieces += [f"{{ {begin}{body}}} "]
        marks.update({mutant: min(inside) for mutant in inside.values()})
        at = closing
    return "".join(pieces) + source[at:], marks


def read_known(text):
    """The mutants that are known to change nothing: {(file, function, before, after): reason}.

    Each is four lines, `file function`, `- before`, `+ after` and `why reason`; empty lines and lines that begin with # say nothing.
    """
    known, where, before, after = {}, None, None, None
    for number, line in enumerate(text.splitlines(), 1):
        mark, _, rest = line.strip().partition(" ")
        if not mark or mark.startswith("#"):
            continue
        if mark == "-":
            before = squeeze(rest)
        elif mark == "+":
            after = squeeze(rest)
        elif mark == "why":
            if not (where and before and after is not None and rest):
                raise ValueError(f"line {number}: 'why' comes behind 'file function', '-' and '+'")
            known[(*where, before, after)] = rest
            where = before = after = None
        else:
            where = (mark, rest)
    if where:
        raise ValueError(f"{where[0]} {where[1]} has no reason")
    return known


def key(mutant):
    return mutant.file, mutant.function, mutant.before, mutant.after


def show_known(mutant):
    """As in the list of known ones, but for the reason."""
    return f"{mutant.file} {mutant.function}\n- {mutant.before}\n+ {mutant.after}\n"
