# The share of a file's functions that are hooked, of `brace list -f FILE --json`. PLT entries
# belong to other files and cold fragments to other functions: neither is counted.
/"plt":true/ || /"reason":"cold"/ || !/"address":/ { next }
{ n++; hooked += /"hooked":true/ }
END { printf "%.2f %% of %d", n ? 100 * hooked / n : 0, n }
