# Hashes, closures, regular expressions, die and eval, sorting: deterministic, one process.
my %h; $h{$_ % 97} .= $_ for 1 .. 1000;
my $x = join ",", map { "$_$h{$_}" } sort { $h{$a} cmp $h{$b} } keys %h;
(my $y = $x) =~ s/(\d)(\d)/$2$1/g; my $n = () = $x =~ /(?<=1)2\d*/g;
sub risky { my $n = shift; die { n => $n } unless $n; my $r = eval { risky($n - 1) }; die $@ if $n % 3 == 0; $r // -1 }
for (0 .. 20) { my $r = eval { risky($_) }; $n += defined $r ? $r : 1 }
my @c = map { my $k = $_; sub { $k += shift } } 1 .. 50; $_->(3) for @c;
print length $y, " $n ", unpack("%32C*", $y), " ", join(" ", map { sprintf "%.2e", $_->(0) } @c), "\n";
