#!/bin/bash
# Names of functions are those that their programmers wrote, no two functions have one, and the name that is shown selects:
# C++'s templates, functions of one symbol, --names, terminals' widths, other languages' compilers where they are.
. "$(dirname "$0")/lib.sh"
[ -x "${FIXTURES:?is the directory of the compiled test programs}/spelled" ] || { printf '1..0 # SKIP no C++ compiler\n'; exit 0; }
LIMIT=60
P=$FIXTURES/spelled

# calls NAME...: "CALLS NAME" of each row of the report.
calls() {
	"$BRACE" report --json "$@" "$T/trace" | sed -nE 's/^\{"name":"([^"]*)".*"calls":([0-9]+).*/\2 \1/p' | sort
}
# address CALLS: of the function `begin` that has so many.
address() { calls | sed -n "s/^$1 begin@//p"; }

record --mode block -l 'shop::*' -l begin -- "$P"
calls >"$T/seen"
sed -E 's/@0x[0-9a-f]+$/@ADDRESS/' "$T/seen" >"$T/shown"
sort >"$T/wanted" <<'end'
1 shop::a_name_that_is_much_longer_than_what_is_left_of_the_width_of_a_usual_terminal
1 shop::price(std::map<std::string, std::vector<std::string>> const&)
1 shop::price(std::vector<int> const&)
2 shop::price(std::string const&)
3 begin@ADDRESS
4 shop::basket<std::string>::put
5 begin@ADDRESS
end
check "report: names as they were written, a row for each" diff "$T/wanted" "$T/shown"
nm "$P" | awk '$3 == "_ZL5beginv" { print $1 }' | sed 's/^0*/0x/' | sort >"$T/wanted"
{ address 3; address 5; } | sort >"$T/shown"
check "functions of one symbol: nm's addresses" diff "$T/wanted" "$T/shown"

# selects NAME LINE...: what record -l NAME and report -l NAME leave.
selects() {
	"$BRACE" report --json -l "$1" "$T/all" | sed -nE 's/^\{"name":"([^"]*)".*"calls":([0-9]+).*/\2 \1/p' | sort >"$T/seen"
	check "report -l '$1'" diff <(printf '%s\n' "${@:2}" | sort) "$T/seen"
	record --mode block -l "$1" -- "$P"
	calls >"$T/seen"
	check "record -l '$1'" diff <(printf '%s\n' "${@:2}" | sort) "$T/seen"
	check_that "record -l '$1': is known" [ "$(grep -c 'there is no function' "$T/summary")" -eq 0 ]
}
one=$(address 3)
mv "$T/trace" "$T/all"
selects 'shop::price(std::string const&)' '2 shop::price(std::string const&)'
selects 'shop::price(*)' '2 shop::price(std::string const&)' '1 shop::price(std::vector<int> const&)' \
	'1 shop::price(std::map<std::string, std::vector<std::string>> const&)'
selects 'shop::basket<std::string>::put' '4 shop::basket<std::string>::put'
selects 'shop::basket<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >::put' \
	'4 shop::basket<std::string>::put'
selects "begin@$one" "3 begin@$one"

cp "$T/all" "$T/trace"
calls --names mangled | cut -d' ' -f2 | sed 's/@.*//' | sort -u >"$T/seen"
nm "$P" | awk '$3 ~ /^_ZN4shop/ || $3 == "_ZL5beginv" { print $3 }' | sort -u >"$T/symbols"
check "--names mangled: nm's symbols" diff "$T/symbols" "$T/seen"
calls --names full | cut -d' ' -f2- | sed 's/@.*//' | grep -v begin | sort -u >"$T/seen"
grep -v begin "$T/symbols" | c++filt | sed 's/^void //' | sort -u >"$T/wanted"
check "--names full: c++filt's names" diff "$T/wanted" "$T/seen"
"$BRACE" report --names long "$T/trace" >"$T/out" 2>"$T/err"
check_that "--names: a word that is none is refused" [ $? -eq 125 ]
check "--names: the error tells the words" grep -q 'short, full or mangled' "$T/err"

# A terminal of 100 columns: no line is wider, the name has its end.
TERM=xterm script -qec "stty cols 100; '$BRACE' report --no-pager --color never '$T/trace'; '$BRACE' diff --no-pager --color never '$T/trace' '$T/trace'" /dev/null </dev/null | tr -d '\r' >"$T/out"
check_that "a terminal: no line is wider" [ "$(awk 'length > 100' "$T/out" | wc -l)" -eq 0 ]
check "a terminal: names are cut in the middle" grep -q 'shop::.*\.\..*terminal \[spelled\]' "$T/out"
"$BRACE" report "$T/trace" >"$T/out"
check "a file: names are whole" grep -q ' shop::a_name_that_is_much_longer_than_what_is_left_of_the_width_of_a_usual_terminal \[' "$T/out"

# A virtual destructor is several functions of one name.
cat >"$T/virtual.cc" <<'end'
namespace shop {
struct item { virtual ~item(); };
struct special : item { ~special() override; };
volatile int gone;
__attribute__((noinline)) item::~item() { gone = gone + 1; }
__attribute__((noinline)) special::~special() { gone = gone + 2; }
}
int main() { shop::item *p = new shop::special; delete p; shop::special here; return shop::gone != 3; }
end
if g++ -O1 -o "$T/virtual" "$T/virtual.cc" 2>"$T/err"; then
	record --mode block -l 'shop::*' -- "$T/virtual"
	calls >"$T/seen"
	check "destructors: deleting, and of the whole object" diff <(printf '1 shop::special::~special().deleting\n2 shop::item::~item()\n2 shop::special::~special()\n') "$T/seen"
	record --mode block -l 'shop::special::~special().deleting' -- "$T/virtual"
	calls >"$T/seen"
	check "such a name selects" diff <(echo '1 shop::special::~special().deleting') "$T/seen"
else
	skip "destructors" "no g++: $(head -n 1 "$T/err")"
fi

# Names with blanks select, too: an operator's template, what calls by way of a second base class.
cat >"$T/blanks.cc" <<'end'
#include <iostream>
#include <string>
struct a { virtual int one() { return 1; } };
struct b { virtual int two() { return 2; } };
struct c : a, b { int two() override { return 3; } };
int main()
{
	c it;
	b *volatile p = &it;
	std::string s = std::string("x") + 'y';
	std::cout << 'z' << (s + "w") << std::endl;
	return p->two() != 3;
}
end
if g++ -O0 -o "$T/blanks" "$T/blanks.cc" 2>"$T/err"; then
	record --mode block -L '*' -l 'std::operator+<char>' -l 'std::operator<< <*' -l 'non-virtual thunk to c::two()' -- "$T/blanks"
	calls >"$T/seen"
	check "an operator of std: no default arguments" grep -q '^1 std::operator+<char>' "$T/seen"
	check "an operator with a blank in its name" grep -q '^1 std::operator<< <' "$T/seen"
	check "a thunk" grep -qx '1 non-virtual thunk to c::two()' "$T/seen"
	check_that "and nothing else" [ "$(grep -cvE 'std::operator(\+|<<) ?<|thunk' "$T/seen")" -eq 0 ]
else
	skip "names with blanks" "no g++: $(head -n 1 "$T/err")"
fi

# Other languages, where there is a compiler: functions as users write them.
if command -v gnatmake >/dev/null; then
	mkdir "$T/ada" && cd "$T/ada" || exit 1
	printf 'package Shop is\n procedure Price (N : Integer);\n procedure Pay (N : Integer);\n procedure Pay (N : Float);\n Sum : Integer := 0;\n pragma Volatile (Sum);\nend Shop;\n' >shop.ads
	printf 'package body Shop is\n procedure Price (N : Integer) is\n begin\n  Sum := Sum + N;\n end Price;\n procedure Pay (N : Integer) is\n begin\n  Price (N);\n end Pay;\n procedure Pay (N : Float) is\n begin\n  Price (Integer (N));\n end Pay;\nend Shop;\n' >shop.adb
	printf 'with Shop;\nprocedure Main is\nbegin\n Shop.Pay (1);\n Shop.Pay (2.0);\nend Main;\n' >main.adb
	gnatmake -q -g main.adb 2>"$T/err" || not_ok "gnatmake" "$T/err"
	cd - >/dev/null || exit 1
	record --mode block -l 'shop.*' -l main -- "$T/ada/main"
	calls >"$T/seen"
	check "Ada: package.procedure" grep -qx '2 shop.price' "$T/seen"
	check "Ada: overloads have GNAT's numbers" diff <(grep pay "$T/seen") <(printf '1 shop.pay\n1 shop.pay__2\n')
	record --mode block -l 'shop.pay__2' -- "$T/ada/main"
	calls >"$T/seen"
	check "Ada: such a name selects one of them" diff <(echo '1 shop.pay__2') "$T/seen"
fi
if command -v ocamlopt >/dev/null; then
	mkdir "$T/ml"
	printf 'let [@inline never] price n = print_int n\nlet () = price 1; price 2\n' >"$T/ml/shop.ml"
	(cd "$T/ml" && ocamlopt -o shop shop.ml) 2>"$T/err" || not_ok "ocamlopt" "$T/err"
	record --mode block -l 'Shop.price' -- "$T/ml/shop"
	calls >"$T/seen"
	check "OCaml: Module.function" grep -qx '2 Shop.price' "$T/seen"
fi
for compiler in gdc ldc2; do
	command -v $compiler >/dev/null || continue
	mkdir -p "$T/d"
	cat >"$T/d/shop.d" <<'end'
module shop;
struct Item { int cents; int price() { return cents; } }
interface Priced { int total(); }
class Basket : Priced { int total() { return 4; } }
int price(int n) { return n; }
int price(string s) { return cast(int) s.length; }
int apply(int delegate(int) f) { return f(1); }
T twice(T)(T x) { return x + x; }
int main()
{
	int n = 1;
	Priced p = new Basket();
	return price(1) + price("ab") + price("abc") + apply((int x) => x + n) + twice(2) + Item(3).price() + p.total() == 23 ? 0 : 1;
}
end
	(cd "$T/d" && if [ $compiler = gdc ]; then gdc -g -o shop shop.d; else ldc2 -g --of=shop shop.d; fi) 2>"$T/err" ||
		not_ok "$compiler" "$T/err"
	record --mode block -l 'shop.*' -- "$T/d/shop"
	calls >"$T/seen"
	for name in '1 shop.price(int)' '2 shop.price(string)' '1 shop.apply' '1 shop.twice!(int).twice' '1 shop.Item.price' '1 shop.Basket.total'; do
		check "$compiler: $name" grep -qxF "$name" "$T/seen"
	done
	record --mode block -l 'shop.price(string)' -l 'D main' -- "$T/d/shop"
	calls >"$T/seen"
	check "$compiler: such names select" diff <(printf '1 D main\n2 shop.price(string)\n') "$T/seen"
done
if command -v rustc >/dev/null; then
	mkdir "$T/rust"
	cat >"$T/rust/shop.rs" <<'end'
pub trait Priced { fn price(&self) -> i32; }
pub struct Item(i32);
impl Priced for Item { #[inline(never)] fn price(&self) -> i32 { self.0 } }
impl Priced for Vec<Item> { #[inline(never)] fn price(&self) -> i32 { self.iter().map(|i| i.price()).sum() } }
fn main() { std::process::exit(vec![Item(1), Item(-1)].price()); }
end
	for mangling in legacy v0; do
		# The compiler says which names it has; before 1.59 it takes no word for them, and has legacy ones.
		(cd "$T/rust" && { rustc -g -C symbol-mangling-version=$mangling -o shop shop.rs || rustc -g -o shop shop.rs; }) 2>"$T/err" ||
			not_ok "rustc" "$T/err"
		record --mode block -l '*Priced*' -- "$T/rust/shop"
		calls >"$T/seen"
		check "Rust, $mangling: a trait's function of a type" grep -qx '2 <shop::Item as shop::Priced>::price' "$T/seen"
		check "Rust, $mangling: of a type of another crate" grep -qx '1 <alloc::vec::Vec<shop::Item> as shop::Priced>::price' "$T/seen"
		record --mode block -l '<shop::Item as shop::Priced>::price' -- "$T/rust/shop"
		calls >"$T/seen"
		check "Rust, $mangling: the name selects" diff <(echo '2 <shop::Item as shop::Priced>::price') "$T/seen"
	done
fi
finish
