# Regular expressions, hashes, closures, die and eval (longjmp), sorting, fork, sprintf, objects.
use strict; use warnings;
package Shape { sub new { my ($c, %a) = @_; bless {%a}, $c } sub area { $_[0]{w} * $_[0]{h} } sub DESTROY { $main::gone++ } }
our $gone = 0;
my %n; $n{"k" . ($_ * 7919 % 307)} += $_ for 1 .. 3000;
my @top = sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n;
print "@top[0 .. 5] ", scalar(@top), "\n";
my $text = join " ", map { "word$_" x ($_ % 3) } 1 .. 500;
(my $t = $text) =~ s/(\w)(\d+)/sprintf "%s%03x", uc $1, $2/ge;
print length $t, " ", scalar(() = $text =~ /(?<=d)1\d*(?!7)/g), "\n";
sub risky { my $n = shift; die { code => 7 } if !$n; my $r = eval { risky($n - 1) }; die $@ if $n % 3 == 0; $r // -1 }
for my $i (0 .. 20) { my $r = eval { risky($i) }; print defined $r ? $r : ref $@, $i % 7 ? " " : "\n" }
print "\n"; { my @s = map { Shape->new(w => $_, h => 2) } 1 .. 50; my $a = 0; $a += $_->area for @s; print "area $a\n" } print "gone $gone\n";
my @c = map { my $x = $_; sub { $x += shift } } 1 .. 10; $_->(5) for @c; print join(",", map { $_->(0) } @c), "\n";
local $SIG{ALRM} = sub { die "alarm\n" }; eval { alarm 1; kill ALRM => $$; 1 } or print $@; alarm 0;
$| = 1; my $pid = fork; if (!$pid) { print "child\n"; exit 5 } waitpid $pid, 0; print $? >> 8, "\n";
print unpack("%32C*", $text x 20), " ", sprintf("%.3e|%5s|%b", 12345.678, "x", 10), " ", `echo out`; 
warn "to standard error\n"; exit 13;
