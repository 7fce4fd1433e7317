# A text file as lines of a C string.
s/[\\"]/\\&/g
s/^/"/
s/$/\\n"/
