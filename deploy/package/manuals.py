#!/usr/bin/env python3
"""Man pages and shell completions of shim, chat and bench, from the tables of docs/options.md, which a test compares with the
options themselves: manuals.py PREFIX VERSION DATE writes below PREFIX/share."""
import gzip
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAMS = {
    "shim": ("serves language models", [
        "shim [--model FILE]... [--models-dir DIR] [OPTION]...", "shim pull NAME | OWNER/REPOSITORY[:QUANTIZATION] | URL",
        "shim run NAME", "shim list | show NAME | rm NAME", "shim ps | stop NAME", "shim cache [clear [MODEL]]",
        "shim config check FILE"]),
    "chat": ("chats with a language model in the terminal", [
        "chat [OPTION]... [MESSAGE]", "chat respond | available | token-count [OPTION]... [TEXT]"]),
    "bench": ("measures language models", ["bench COMMAND [OPTION]..."]),
}
COMMANDS = {"shim": ["pull", "run", "list", "show", "rm", "ps", "stop", "cache", "config"]}
# For completion: what follows an option that takes one of these.
PATHS = {"FILE", "DIR"}


class Option:
    def __init__(self, names, meaning):
        # `-m FILE`, `--model FILE`
        forms = re.findall(r"`([^`]+)`", names)
        self.names = [form.split(" ")[0] for form in forms]
        self.value = next((form.split(" ", 1)[1] for form in forms if " " in form), None)
        self.meaning = meaning.replace("\\|", "|")


def sections():
    """(program, command or None, its summary, its options), in the order of the page."""
    found = []
    for line in (ROOT / "docs/options.md").read_text().splitlines():
        if head := re.fullmatch(r"##+ (shim|chat|bench)(?: ([\w-]+))?", line):
            found.append((head[1], head[2], "", []))
        elif line.startswith("## "):
            found.append((None, None, "", []))
        elif not found or found[-1][0] is None:
            continue
        elif row := re.fullmatch(r"\| (`-.*?`) \| (.*) \|", line):
            found[-1][3].append(Option(row[1], row[2]))
        elif line and not line.startswith("|") and not found[-1][2]:
            found[-1] = (*found[-1][:2], line, found[-1][3])
    return [section for section in found if section[0]]


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def man(program, parts, version, date):
    summary, usages = PROGRAMS[program]
    lines = [f'.TH {program.upper()} 1 "{date}" "LocalLLM {version}" "User Commands"',
             ".SH NAME", f"{program} \\- {summary}", ".SH SYNOPSIS"]
    for usage in usages:
        lines += [".nf", roff(usage), ".fi"]
    for command, about, options in parts:
        lines.append(f'.SH "{command.upper()}"' if command else ".SH OPTIONS")
        if about:
            lines.append(roff(about[0].upper() + about[1:] + "."))
        for option in options:
            names = ", ".join(f"\\fB{roff(name)}\\fR" for name in option.names)
            value = f" \\fI{roff(option.value)}\\fR" if option.value else ""
            lines += [".TP", names + value, roff(option.meaning[0].upper() + option.meaning[1:] + ".")]
    lines += [".SH SEE ALSO", ", ".join(f"\\fB{other}\\fR(1)" for other in PROGRAMS if other != program) + ".",
              "The pages of documentation are in /usr/share/doc/localllm, where the package was installed."]
    return "\n".join(lines) + "\n"


def bash(program, parts):
    cases, values = [], {}
    for command, _, options in parts:
        names = " ".join(name for option in options for name in option.names)
        if command:
            cases.append(f"        {command}) words='{names}' ;;")
        else:
            top = names
        for option in options:
            if option.value:
                kind = option.value if option.value in PATHS else "other"
                for name in option.names:
                    values.setdefault(kind, set()).add(name)
    first = [command for command, _, _ in parts if command] + COMMANDS.get(program, [])
    top = " ".join(first + ([top] if None in [command for command, _, _ in parts] else []))
    lines = [f"# Completion of {program} for bash.", f"_localllm_{program}() {{",
             "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words",
             '    case $before in']
    for kind, action in [("FILE", "-f"), ("DIR", "-d"), ("other", None)]:
        if kind in values:
            names = "|".join(sorted(values[kind]))
            reply = f'mapfile -t COMPREPLY < <(compgen {action} -- "$word"); ' if action else ""
            lines.append(f"        {names}) {reply}return ;;")
    lines += ["    esac", "    case ${COMP_WORDS[1]} in", *cases, f"        *) words='{top}' ;;", "    esac",
              '    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")',
              "}", f"complete -o filenames -F _localllm_{program} {program}", ""]
    return "\n".join(lines)


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh(program, parts):
    def argument(option):
        meaning = re.sub(r"([\[\]:\\])", r"\\\1", option.meaning)
        action = {"FILE": ":file:_files", "DIR": ":folder:_files -/"}.get(
            option.value, f":{re.sub('[^A-Za-z ]', ' ', option.value)}: " if option.value else "")
        repeats = "*" if option.meaning.endswith("repeatable") else ""
        group = f"({' '.join(option.names)})" if len(option.names) > 1 and not repeats else ""
        return [quoted(f"{repeats}{group}{name}[{meaning}]{action}") for name in option.names]

    lines = [f"#compdef {program}", f"# Completion of {program} for zsh."]
    commands = [(command, about) for command, about, _ in parts if command]
    names = [command for command, _ in commands] + COMMANDS.get(program, [])
    top = [row for command, _, options in parts if not command for option in options for row in argument(option)]
    if names:
        lines += [f"if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then",
                  f"    compadd -- {' '.join(names)}", *([] if top else ["    return"]), "fi"]
    if commands:
        lines.append("case $words[2] in")
        for command, _, options in parts:
            if command:
                rows = " ".join(row for option in options for row in argument(option))
                lines.append(f"    {command}) shift words; (( CURRENT-- )); _arguments {rows} '*:file:_files'; return ;;")
        lines.append("esac")
    if top:
        lines.append("_arguments " + " \\\n    ".join(top))
    return "\n".join(lines) + "\n"


def fish(program, parts):
    lines = [f"# Completion of {program} for fish."]
    names = [command for command, _, _ in parts if command] + COMMANDS.get(program, [])
    abouts = {command: about for command, about, _ in parts if command}
    for name in names:
        about = f" -d {quoted(abouts[name])}" if abouts.get(name) else ""
        lines.append(f"complete -c {program} -n __fish_use_subcommand -a {name}{about}")
    for command, _, options in parts:
        condition = f" -n '__fish_seen_subcommand_from {command}'" if command else ""
        for option in options:
            flags = " ".join(("-l " + name[2:]) if name.startswith("--") else ("-s " + name[1:] if len(name) == 2 else "-o " + name[1:])
                             for name in option.names)
            needs = "" if not option.value else " -r" if option.value in PATHS else " -x"
            lines.append(f"complete -c {program}{condition} {flags}{needs} -d {quoted(option.meaning)}")
    return "\n".join(lines) + "\n"


def main():
    prefix, version, date = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    for program in PROGRAMS:
        parts = [(command, about, options) for name, command, about, options in sections() if name == program]
        parts = [part for part in parts if part[0] or part[2]]
        assert parts and all(options or command for command, _, options in parts), f"docs/options.md: no options of {program}"
        for path, text in [
            (f"man/man1/{program}.1.gz", man(program, parts, version, date)),
            (f"bash-completion/completions/{program}", bash(program, parts)),
            (f"zsh/vendor-completions/_{program}", zsh(program, parts)),
            (f"fish/vendor_completions.d/{program}.fish", fish(program, parts)),
        ]:
            file = prefix / "share" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            # Without a time, so that the same sources give the same package.
            file.write_bytes(gzip.compress(text.encode(), mtime=0) if path.endswith(".gz") else text.encode())


if __name__ == "__main__":
    main()
