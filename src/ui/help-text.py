# SPDX-License-Identifier: MIT
# Prints what brace help --search reads of the manual and of docs/, as rows of C: the file, the
# heading and the text of each paragraph of a manual page, and the headings of docs/*.md. A depfile
# names what was read.
import glob
import os
import re
import sys

# Macros of mdoc, which are no words of the text; the word behind Fl is an option.
MACROS = set('Ar Bd Bl Cm Dl Dq El Ed Em Ev Fl Fn It Li Nd Nm No Ns Op Pa Pc Po Pp Pq Ql Qq Sh Sm Ss Sq Sy Xr'.split())
SKIPPED = ('SEE ALSO', 'SYNOPSIS', 'I WANT TO')
ESCAPES = {r'\e': '\\', r'\-': '-', r'\&': '', r'\(dq': '"', r'\(bs': '\\'}


def words(line):
    """A line of mdoc as text."""
    if not line.startswith('.'):
        return line
    line = re.sub(r'Xr (\S+) (\d)', r'\1(\2)', line)
    text, option = [], False
    for word in line[1:].split():
        if word in MACROS:
            option = word == 'Fl'
            continue
        text.append('-' + word if option and re.match(r'[\w-]', word) else word)
        option = False
    return re.sub(r' ([.,;:)])(?= |$)', r'\1', ' '.join(text))


def plain(text):
    for escape, letter in ESCAPES.items():
        text = text.replace(escape, letter)
    return ' '.join(text.replace('( ', '(').replace(' = ', '=').split())


def page(path):
    """(heading, text) of each paragraph, and of each item of a list."""
    heading, text = '', []
    for line in open(path, encoding='utf-8').read().splitlines() + ['.Sh end']:
        if re.match(r'\.(\\"|Dd|Dt|Os)', line):
            continue
        if re.match(r'\.(Sh|Ss|It|Pp|Bl|El|Bd)\b', line):
            paragraph = plain(' '.join(text))
            # brace(1) lists the commands, and the questions of wants.c, once more.
            if paragraph and heading not in SKIPPED and not re.search(r', see brace-\w+\(1\)', paragraph):
                yield heading, paragraph
            text = []
            if re.match(r'\.S[hs]\b', line):
                heading = line[4:].strip('" ')
                continue
            if not line.startswith('.It'):
                continue
        text.append(words(line))


def headings(path):
    fenced = False
    for line in open(path, encoding='utf-8'):
        fenced ^= line.startswith('```')
        match = re.match(r'#+ +(.*)', line)
        if match and not fenced:
            yield re.sub(r'[`*]', '', match[1]), ''


def string(text):
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"').replace('?', '\\?') + '"'


def main():
    depfile, output, top = sys.argv[1:]
    folders = [os.path.join(top, 'man'), os.path.join(top, 'docs')]
    pages = sorted(glob.glob(folders[0] + '/*.1'))
    docs = sorted(glob.glob(folders[1] + '/*.md'))
    with open(depfile, 'w', encoding='utf-8') as file:
        file.write(f'{output}: {" ".join(folders + pages + docs)}\n')
    with open(output, 'w', encoding='utf-8') as file:
        for path in pages + docs:
            for heading, text in page(path) if path.endswith('.1') else headings(path):
                file.write(f'{{ {string(os.path.basename(path))}, {string(heading)}, {string(text)} }},\n')


main()
