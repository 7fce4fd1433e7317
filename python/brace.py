# SPDX-License-Identifier: MIT
"""Traces of brace in Python, over libbrace.so.0 by ctypes; columns are numpy's if it is installed.

    import brace
    with brace.Trace('trace.brace') as trace:
        print(trace.info['command'], trace.info['lost'], 'records lost')
        for row in trace.report(filter='malloc*'):
            print(row['name'], row['calls'], row['self'])
        for batch in trace.columns('function', 'self', kinds=brace.LEAVE):
            ...                                  # arrays, 65536 values at most
        for name, n in trace.query('SELECT name, count(*) FROM slice GROUP BY name'):
            print(name, n)

    with brace.Session(['./server'], filter='handle_*') as session:     # or Session(pids=[1234])
        session['events/syscalls/enable'] = '1'  # ftrace's files
        session.feed(sys.stdout.buffer.write)    # as it comes
        session.extract('server.brace')

A part of the trace is chosen by the options of `brace report`: filter='f*', min_duration='1ms', from_='25%', to=,
thread=, process=, library=, ...; a list gives an option several times. Errors are brace.Error, with errno and brace's
sentence. Names are str; bytes that are no UTF-8 are escaped as surrogates. Times are ns of CLOCK_MONOTONIC.
"""
import array
import ctypes as _c
import errno as _errno
import os as _os

try:
    import numpy as _numpy
except ImportError:
    _numpy = None

__all__ = ['Trace', 'Session', 'Error', 'ENTER', 'LEAVE', 'WHOLE', 'ONLY', 'EVENT', 'LOST']
ENTER, LEAVE, WHOLE, ONLY, EVENT, LOST = (1 << kind for kind in range(1, 7))
_lib = _c.CDLL(_os.environ.get('BRACE_LIBRARY', 'libbrace.so.0'))
_P, _STR, _U32, _U64 = _c.c_void_p, _c.c_char_p, _c.c_uint32, _c.c_uint64


class Error(OSError):
    """What libbrace refused: errno, and strerror, which is brace's sentence."""


def _record(name, /, **fields):
    """A struct of brace.h, whose members are these in this order."""
    return type(name, (_c.Structure,), {'_fields_': [(key.rstrip('_'), kind) for key, kind in fields.items()]})


_Info = _record('Info', host=_STR, kernel=_STR, cpu=_STR, command=_STR, version=_STR, tracer=_STR, cpus=_U32,
                created_ns=_U64, begin=_U64, end=_U64, records=_U64, calls=_U64, lost=_U64, bytes=_U64, clock_hz=_U64,
                cut=_c.c_bool, cut_bytes=_U64, thresh_ns=_U64, exclude_sleep=_c.c_bool, values=_c.c_bool, timed=_c.c_bool,
                ended=_c.c_bool, status=_U32, elapsed_ns=_U64, user_ns=_U64, system_ns=_U64)
_Setting = _record('Setting', file=_STR, text=_STR, chosen=_c.c_bool)
_Process = _record('Process', pid=_U32, program=_STR, command=_STR, begin=_U64)
_Thread = _record('Thread', tid=_U32, process=_U32, name=_STR, begin=_U64, records=_U64, lost=_U64, kernel=_c.c_bool)
_Function = _record('Function', name=_STR, symbol=_STR, module=_STR, file=_STR, address=_U64, size=_U64,
                    build_id=_P, build_id_size=_U32, returns=_c.c_bool)
_Event = _record('Event', system=_STR, name=_STR, format=_STR, fields=_U32)
_Field = _record('Field', name=_STR, type=_STR, offset=_U32, size=_U32, is_signed=_c.c_bool)
_Value = _record('Value', type=_c.c_int, number=_c.c_int64, text=_P, n=_c.c_size_t)
_COLUMNS = {'time': 'Q', 'duration': 'Q', 'self': 'Q', 'value': 'Q', 'site': 'Q', 'count': 'Q', 'thread': 'I',
            'function': 'I', 'event': 'I', 'depth': 'I', 'coroutine': 'I', 'cpu': 'H', 'kind': 'B', 'flags': 'B'}
_KINDS = {'Q': _U64, 'I': _U32, 'H': _c.c_uint16, 'B': _c.c_uint8}
_Call = _record('Call', **{name: _KINDS[code] for name, code in _COLUMNS.items()})
_Columns = _record('Columns', size=_c.c_size_t, **{name: _P for name in _COLUMNS})
_Start = _record('Start', size=_c.c_size_t, name=_STR, options=_P, argv=_P, pids=_P, n_pids=_c.c_size_t, brace=_STR)
_MORE = _c.CFUNCTYPE(_c.c_int, _P, _P, _c.c_size_t)
_NAME = _c.CFUNCTYPE(_c.c_int, _P, _STR)
_Part = _record('Part', size=_c.c_size_t, options=_P, kinds=_c.c_uint)


def _text(value):
    return value.decode('utf-8', 'surrogateescape') if isinstance(value, bytes) else value


def _dict(record):
    return {name: _text(getattr(record, name)) for name, kind in record._fields_ if kind is not _P}


def _fail(code):
    raise Error(code, _text(_lib.brace_error()))


def _checked(result, *_):
    return _fail(-result) if result < 0 else result


def _declare(name, result, *arguments, check=False):
    function = getattr(_lib, name)
    function.restype, function.argtypes = result, arguments
    if check:
        function.errcheck = _checked


for _name, _result, *_arguments in (
        ('error', _STR), ('version', _STR), ('trace_close', None, _P), ('calls_close', None, _P),
        ('query_close', None, _P), ('rows_close', None, _P),
        ('session_close', None, _P), ('session_name', _STR, _P), ('trace_info', _c.POINTER(_Info), _P),
        ('trace_realtime', _c.c_int64, _P, _U64), ('calls_field', _c.POINTER(_Value), _P, _U32),
        ('calls_line', _STR, _P), ('calls_arguments', _STR, _P), ('rows_count', _c.c_uint, _P),
        ('rows_name', _STR, _P, _c.c_uint), ('rows_type', _c.c_int, _P, _c.c_uint),
        ('rows_int', _c.c_int64, _P, _c.c_uint), ('rows_real', _c.c_double, _P, _c.c_uint),
        ('rows_text', _STR, _P, _c.c_uint),
        ('trace_field', _c.POINTER(_Field), _P, _U32, _U32)):
    _declare('brace_' + _name, _result, *_arguments)
for _name, _kind in (('setting', _Setting), ('process', _Process), ('thread', _Thread), ('function', _Function),
                     ('event', _Event)):
    _declare('brace_trace_' + _name, _c.POINTER(_kind), _P, _U32)
    _declare(f'brace_trace_{_name}_count', _U32, _P)
for _name, *_arguments in (('trace_open', _STR, _P), ('calls_open', _P, _P, _P), ('calls_next', _P, _P),
                           ('report_open', _P, _P, _STR, _P), ('query_open', _P, _P), ('query_run', _P, _STR, _P),
                           ('rows_next', _P), ('session_start', _P, _P), ('session_connect', _STR, _P),
                           ('session_names', _NAME, _P), ('session_read', _P, _STR, _P),
                           ('session_write', _P, _STR, _STR), ('session_append', _P, _STR, _STR),
                           ('session_stream', _P, _STR, _MORE, _P), ('session_wait', _P),
                           ('session_extract', _P, _STR), ('session_end', _P)):
    _declare('brace_' + _name, _c.c_int, *_arguments, check=True)
_declare('brace_calls_columns', _c.c_ssize_t, _P, _P, _c.c_size_t, check=True)


def _words(words):
    """A list of words for the library, with NULL behind the last."""
    return (_STR * (len(words) + 1))(*[_os.fsencode(word) for word in words])


def _options(options):
    """NAME=VALUE of the keyword arguments; True: NAME alone, a list gives the option several times."""
    words = []
    for name, value in options.items():
        name = name.rstrip('_').replace('_', '-')
        for one in value if isinstance(value, (list, tuple)) else (value,):
            words.append(name if one is True else f'{name}={one}')
    return _words(words)


def _part(kinds, options):
    """struct brace_part of the keyword arguments, with what it points to."""
    array_of = _options(options)
    part = _Part(_c.sizeof(_Part), _c.cast(array_of, _P), kinds)
    part.keep = array_of
    return part


class Trace:
    """A trace file."""

    def __init__(self, path):
        self._trace = _P()
        _lib.brace_trace_open(_os.fsencode(path), _c.byref(self._trace))
        self.info = _dict(_lib.brace_trace_info(self._trace).contents)
        self._functions = {}

    def close(self):
        trace, self._trace = self._trace, None
        if trace:
            _lib.brace_trace_close(trace)

    __del__ = close

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _open(self):
        """The handle; a closed trace is refused."""
        if not self._trace:
            raise Error(_errno.EBADF, 'the trace is closed')
        return self._trace

    def _all(self, what):
        trace = self._open()
        get = getattr(_lib, 'brace_trace_' + what)
        return [_dict(get(trace, i).contents) for i in range(getattr(_lib, f'brace_trace_{what}_count')(trace))]

    settings = property(lambda self: {row['file']: row['text'] for row in self._all('setting')})
    processes = property(lambda self: self._all('process'))
    threads = property(lambda self: self._all('thread'))
    functions = property(lambda self: self._all('function'))
    events = property(lambda self: self._all('event'))

    def function(self, number):
        """The name of the function with this number; 0 stands for all that the trace does not name."""
        if number not in self._functions:
            found = _lib.brace_trace_function(self._open(), number)
            if not found:
                raise IndexError(number)
            self._functions[number] = _text(found.contents.name)
        return self._functions[number]

    def realtime(self, time):
        """Seconds since 1970 of a time of the trace."""
        return _lib.brace_trace_realtime(self._open(), int(time)) / 1e9

    def _cursor(self, kinds, options):
        cursor, part = _P(), _part(kinds, options)
        _lib.brace_calls_open(self._open(), _c.byref(part), _c.byref(cursor))
        return cursor

    def calls(self, kinds=0, **options):
        """Calls and events by time, a dict each; kinds: ENTER | LEAVE ..., 0: all. For small parts: columns() is
        ten times as fast."""
        cursor, call = self._cursor(kinds, options), _c.POINTER(_Call)()
        fields = {}
        try:
            while _lib.brace_calls_next(cursor, _c.byref(call)):
                row = _dict(call.contents)
                row['name'] = self.function(row['function'])
                if 1 << row['kind'] == EVENT:
                    self._add_event(cursor, row, fields)
                yield row
        finally:
            _lib.brace_calls_close(cursor)

    def _add_event(self, cursor, row, known):
        number = row['event']
        if number not in known:
            event = _lib.brace_trace_event(self._open(), number).contents
            names = [_text(_lib.brace_trace_field(self._trace, number, i).contents.name) for i in range(event.fields)]
            known[number] = f'{_text(event.system)}:{_text(event.name)}', names
        row['name'], names = known[number]
        row['fields'] = {}
        for i, name in enumerate(names):
            value = _lib.brace_calls_field(cursor, i).contents
            row['fields'][name] = (value.number if value.type == 1 else
                                   _text(_c.string_at(value.text, value.n)) if value.type == 3 else None)

    def columns(self, *names, kinds=0, n=1 << 16, **options):
        """Batches of columns: dicts of arrays with up to n values. Without names: all columns."""
        names = names or tuple(_COLUMNS)
        cursor = self._cursor(kinds, options)
        try:
            while True:
                made = {name: _empty(_COLUMNS[name], n) for name in names}
                to = _Columns(_c.sizeof(_Columns), **{name: _address(column) for name, column in made.items()})
                got = _lib.brace_calls_columns(cursor, _c.byref(to), n)
                if not got:
                    return
                yield {name: column[:got] for name, column in made.items()}
        finally:
            _lib.brace_calls_close(cursor)

    def report(self, sort=None, **options):
        """What `brace report` shows: a dict for each function and each event."""
        rows, part = _P(), _part(0, options)
        _lib.brace_report_open(self._open(), _c.byref(part), sort and sort.encode(), _c.byref(rows))
        names = _names(rows)
        return [dict(zip(names, row)) for row in _rows(rows)]

    def query(self, sql):
        """The rows of the last statement, as tuples; the tables are those of `brace query`."""
        query, rows = _P(), _P()
        _lib.brace_query_open(self._open(), _c.byref(query))
        try:
            _lib.brace_query_run(query, sql.encode('utf-8', 'surrogateescape'), _c.byref(rows))
        finally:
            _lib.brace_query_close(query)
        return _rows(rows)


def _empty(code, n):
    if _numpy is not None:
        return _numpy.empty(n, code)
    return array.array(code, bytes(n * array.array(code).itemsize))


def _address(column):
    return column.ctypes.data if _numpy is not None else column.buffer_info()[0]


def _names(rows):
    return [_text(_lib.brace_rows_name(rows, i)) for i in range(_lib.brace_rows_count(rows))]


def _rows(rows):
    get = (lambda *_: None, _lib.brace_rows_int, _lib.brace_rows_real, lambda *at: _text(_lib.brace_rows_text(*at)))
    columns = range(_lib.brace_rows_count(rows))
    try:
        while _lib.brace_rows_next(rows):
            yield tuple(get[_lib.brace_rows_type(rows, i)](rows, i) for i in columns)
    finally:
        _lib.brace_rows_close(rows)


class Session:
    """Programs that are traced in the background: Session(['./program', 'argument'], filter='f*'), with the options of
    `brace start`; Session(pids=[1234]); Session.connect(name). session['current_tracer'] reads ftrace's file of that name,
    and an assignment writes it. At the end of `with` the session ends."""

    def __init__(self, argv=None, pids=(), name=None, brace=None, **options):
        self._session = _P()
        words, arguments = _options(options), _words(argv or [])
        numbers = (_c.c_int * len(pids))(*pids)
        how = _Start(_c.sizeof(_Start), name and _os.fsencode(name), _c.cast(words, _P),
                     _c.cast(arguments, _P) if argv else None, _c.cast(numbers, _P) if pids else None, len(pids),
                     brace and _os.fsencode(brace))
        _lib.brace_session_start(_c.byref(how), _c.byref(self._session))

    @classmethod
    def connect(cls, name='default'):
        """A session that runs."""
        session = cls.__new__(cls)
        session._session = _P()
        _lib.brace_session_connect(_os.fsencode(name), _c.byref(session._session))
        return session

    @staticmethod
    def names():
        """The names of the user's sessions."""
        found = []
        _lib.brace_session_names(_NAME(lambda _, name: found.append(_text(name)) or 0), None)
        return found

    def close(self):
        """The session goes on."""
        session, self._session = self._session, None
        if session:
            _lib.brace_session_close(session)

    __del__ = close

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._session:
            self.end()

    def _open(self):
        if not self._session:
            raise Error(_errno.EBADF, 'the session is closed')
        return self._session

    name = property(lambda self: _text(_lib.brace_session_name(self._open())))

    def __getitem__(self, file):
        text = _STR()
        _lib.brace_session_read(self._open(), _os.fsencode(file), _c.byref(text))
        return _text(text.value)

    def __setitem__(self, file, text):
        _lib.brace_session_write(self._open(), _os.fsencode(file), _os.fsencode(text))

    def append(self, file, text):
        """`echo TEXT >> FILE`: a probe, one more filter."""
        _lib.brace_session_append(self._open(), _os.fsencode(file), _os.fsencode(text))

    def feed(self, take, file='trace_pipe'):
        """Gives take() bytes as they are recorded, until it returns a true value or the programs have ended."""
        failed = []

        def more(_, data, n):
            try:
                return 1 if take(_c.string_at(data, n)) else 0
            except BaseException as error:       # not through the library
                failed.append(error)
                return 1
        _lib.brace_session_stream(self._open(), _os.fsencode(file), _MORE(more), None)
        if failed:
            raise failed[0]

    def lines(self, file='trace_pipe'):
        """All lines from now to the programs' end."""
        parts = []
        self.feed(lambda data: parts.append(data), file)
        return _text(b''.join(parts)).splitlines()

    def wait(self):
        """Returns when the programs have ended and all is recorded."""
        _lib.brace_session_wait(self._open())

    def extract(self, path):
        """Writes what is in the buffer to a trace file."""
        _lib.brace_session_extract(self._open(), _os.fsencode(path))

    def end(self):
        """Ends the session; programs go on untraced."""
        _lib.brace_session_end(self._open())
        self.close()
