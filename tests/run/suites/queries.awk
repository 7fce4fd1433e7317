#!/usr/bin/gawk -f
# Tables of random contents and -v queries=N random queries over them, always the same ones.
function one(of,   parts) { return parts[1 + int(rand() * split(of, parts, " "))] }
function value() { return one("0 1 -1 7 99 12.5 -3.25 NULL 'abc' 'b' '' 1e300 x'00ff' 9223372036854775807") }
function column() { return "t" int(rand() * 2) "." one("a b c d") }
function term(deep,   kind) {
	kind = deep ? int(rand() * 9) : 0
	if (kind == 0) return column()
	if (kind == 1) return value()
	if (kind == 2) return "(" term(deep - 1) " " one("+ - * / % || & |") " " term(deep - 1) ")"
	if (kind == 3) return "coalesce(" term(deep - 1) ", " term(deep - 1) ")"
	if (kind == 4) return "CASE WHEN " condition(deep - 1) " THEN " term(deep - 1) " ELSE " term(deep - 1) " END"
	if (kind == 5) return one("length hex typeof quote upper trim unicode") "(" term(deep - 1) ")"
	if (kind == 6) return "substr(" term(deep - 1) ", " int(rand() * 4) ", 3)"
	if (kind == 7) return "(SELECT " one("max min count total") "(u.a) FROM t1 u WHERE u.b " comparison() " " column() ")"
	return "CAST(" term(deep - 1) " AS " one("INTEGER TEXT REAL") ")"
}
function comparison() { return one("= <> < > <= >= IS") }
function condition(deep,   kind) {
	kind = deep ? int(rand() * 7) : 0
	if (kind == 0) return term(deep ? deep - 1 : 0) " " comparison() " " term(deep ? deep - 1 : 0)
	if (kind == 1) return "(" condition(deep - 1) " " one("AND OR") " " condition(deep - 1) ")"
	if (kind == 2) return "NOT (" condition(deep - 1) ")"
	if (kind == 3) return term(deep - 1) " BETWEEN " term(deep - 1) " AND " term(deep - 1)
	if (kind == 4) return term(deep - 1) " IN (" value() ", " value() ", " term(deep - 1) ")"
	if (kind == 5) return term(deep - 1) " LIKE '%" one("a b 1 9 f") "%'"
	return "EXISTS (SELECT 1 FROM t1 u WHERE u.a " comparison() " " column() " AND u.c IS NOT NULL)"
}
function query(n,   from, where, rows) {
	from = (rand() < 0.5 ? "t0 LEFT JOIN" : "t0 JOIN") " t1 ON t0." one("a b c") " " comparison() " t1." one("a b c d")
	where = condition(3)
	rows = "SELECT count(*) FROM " from " WHERE "
	printf "SELECT 'query %d', (SELECT count(*) FROM %s), (%s(%s)) + (%s NOT (%s)) + (%s(%s) IS NULL),", \
		n, from, rows, where, rows, where, rows, where
	printf " (SELECT group_concat(hex(x)) FROM (SELECT %s AS x FROM %s WHERE %s ORDER BY 1 LIMIT 8));\n", \
		term(2), from, where
}
BEGIN {
	srand(20)
	for (t = 0; t < 2; t++) {
		printf "CREATE TABLE t%d (a INTEGER, b TEXT, c REAL, d);\nBEGIN;\n", t
		for (i = 0; i < 16; i++)
			printf "INSERT INTO t%d VALUES (%s, %s, %s, %s);\n", t, value(), value(), value(), value()
		printf "COMMIT;\nCREATE INDEX i%d ON t%d (b, a);\n", t, t
	}
	for (n = 1; n <= queries; n++) query(n)
}
