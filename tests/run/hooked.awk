# The share of functions hooked without a trap, of `brace list -f BINARY --why`.
# Filled in by the columns of that listing: name, kind, reason.
{ n++; if ($0 !~ /not hooked/) hooked++ }
END { printf "%.2f %% of %d", n ? 100 * hooked / n : 0, n }
