# SPDX-License-Identifier: MIT
# Prints the hashes of a style and of scripts, which stand in the page one behind the other, as a Content-Security-Policy has them.
import base64
import hashlib
import sys

def show(name, paths):
    text = b"".join(open(path, "rb").read() for path in paths)
    print(f'#define HTML_{name}_HASH "{base64.b64encode(hashlib.sha256(text).digest()).decode()}"')


show("STYLE", sys.argv[1:2])
show("SCRIPT", sys.argv[2:])
