#!/bin/bash
# A large part of python's own test suite, in two processes at once that fork and exec.
. "$(dirname "$0")/lib.sh"
export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
PYTHON=$(readlink -f /usr/bin/python3)
need $PYTHON
[ -e "/usr/lib/${PYTHON##*/}/test/test_re.py" ] ||
	{ echo "1..0 # SKIP lib${PYTHON##*/}-testsuite is not installed"; exit 0; }
TESTS=${SUITE_TESTS:-test_abc test_argparse test_array test_ast test_asyncgen test_atexit test_base64 test_bigmem
	test_binascii test_binop test_bisect test_bool test_buffer test_builtin test_bytes test_bz2 test_call test_class
	test_cmath test_codecs test_collections test_compile test_complex test_contextlib test_contextlib_async
	test_context test_copy test_coroutines test_csv test_ctypes test_dataclasses test_datetime test_dbm test_decimal
	test_decorators test_deque test_descr test_dict test_dictviews test_difflib test_dis test_enum test_enumerate
	test_except_star test_exceptions test_fcntl test_file test_float test_fork1 test_format test_fractions test_frame
	test_fstring test_functools test_gc test_generators test_genericalias test_glob test_grammar test_gzip test_hash
	test_hashlib test_heapq test_hmac test_import test_index test_inspect test_int test_io test_ipaddress test_isinstance
	test_iter test_itertools test_json test_lambda test_list test_listcomps test_logging test_long test_lzma test_marshal
	test_math test_memoryio test_memoryview test_metaclass test_mmap test_named_expressions test_numeric_tower
	test_opcodes test_operator test_ordered_dict test_os test_patma test_pathlib test_pickle test_pipes test_poll test_posix
	test_pow test_print test_property test_queue test_raise test_random test_range test_re test_richcmp test_scope
	test_select test_selectors test_set test_shelve test_shutil test_signal test_slice test_sort test_sqlite3 test_statistics
	test_str test_string test_strtod test_struct test_subprocess test_super test_sys test_syntax test_tempfile
	test_textwrap test_thread test_threadedtempfile test_threading_local test_time test_tokenize test_traceback test_tuple
	test_types test_typing test_unicode test_unpack test_urlparse test_userdict test_uuid test_weakref test_with
	test_xml_etree test_yield_from test_zipfile test_zlib}

verdicts() { $PYTHON "$HERE/suites/junit.py" "$RUN_DIR/verdicts.xml"; }

# shellcheck disable=SC2086 # a list of words
suite "${PYTHON##*/}" 5000 100000000 --mode stream -- $PYTHON -m test -j2 --timeout 600 --junit-xml verdicts.xml $TESTS
finish
