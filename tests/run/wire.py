# SPDX-License-Identifier: MIT
"""Protobuf's wire format, as exports.py and typed_arguments.py read it: fields by their numbers."""


def fields(b, doubles=False):
    """Each field of a message: its number, and its value, an int or bytes. Other types than those are no brace's;
    eight bytes at once only with doubles."""
    at, end = 0, len(b)

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = b[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < end:
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        assert key & 7 == 2 or (doubles and key & 7 == 1), 'only numbers and bytes are used'
        n = varint() if key & 7 == 2 else 8
        assert at + n <= end, 'a field is longer than its message'
        yield key >> 3, b[at:at + n]
        at += n
