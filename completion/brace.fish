# fish completion for brace. Commands and options come from brace's own help, functions and events from `brace list`.

function __brace_commands
    brace help 2>/dev/null | string replace -rf '^  ([a-z]+) +(\S.*)$' '$1\t$2'
end

function __brace_command
    set -l words (commandline -opc)
    test (count $words) -gt 1; and echo $words[2]
end

function __brace_options
    set -l help (brace (__brace_command) --help 2>/dev/null)
    string replace -rf '^  .{4}(--[a-z-]+)\S* *(.*)$' '$1\t$2' -- $help
    string replace -rf '^  (-[A-Za-z]), \S+ *(.*)$' '$1\t$2' -- $help
end

# Whether the command has the long option $argv; its help is kept until another command is typed.
function __brace_has
    set -l command (__brace_command)
    test -n "$command"; or return 1
    if test "$__brace_help_of" != "$command"
        set -g __brace_help_of $command
        set -g __brace_help (brace $command --help 2>/dev/null)
    end
    string match -qr -- "^  (-., |    )--$argv(\W|\$)" $__brace_help
end

# The first word behind the command that names a file of functions.
function __brace_program
    for word in (commandline -opc)[3..-1]
        set -l path (command -s -- $word); or test -f "$word"; and set path $word
        test -n "$path"; and echo $path; and return
    end
end

function __brace_functions
    set -l program (__brace_program)
    test -n "$program"; and brace list --no-pager -f $program (commandline -ct)'*' 2>/dev/null
end

function __brace_events
    set -l program (__brace_program)
    test -n "$program"; and brace list -e --no-pager -f $program 2>/dev/null; or brace list -e --no-pager 2>/dev/null
end

complete -c brace -n __fish_use_subcommand -f -a '(__brace_commands)'
complete -c brace -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' -f -a '(__brace_options)'
complete -c brace -n '__brace_has filter' -s l -l filter -x -a '(__brace_functions)'
complete -c brace -n '__fish_seen_subcommand_from list; and string length -q -- (__brace_program)' -f -a '(__brace_functions)'
complete -c brace -n '__brace_has notrace; and not __fish_seen_subcommand_from top' -s n -l notrace -x -a '(__brace_functions)'
complete -c brace -n '__brace_has graph-function' -s g -l graph-function -x -a '(__brace_functions)'
complete -c brace -n '__brace_has args' -l args -x -a '(__brace_functions)'
complete -c brace -n '__brace_has retval' -l retval -x -a '(__brace_functions)'
complete -c brace -n '__fish_seen_subcommand_from hist' -s d -l durations -x -a '(__brace_functions)'
complete -c brace -n '__brace_has event' -s e -l event -x -a '(__brace_events)'
complete -c brace -n '__brace_has pid' -s p -l pid -x -a '(__fish_complete_pids)'
complete -c brace -n '__brace_has tracer; and not __fish_seen_subcommand_from list' -s t -l tracer -x -a 'function_graph function osnoise timerlat hwlat'
complete -c brace -n '__fish_seen_subcommand_from probe' -s x -l exec -r -F
complete -c brace -n '__fish_seen_subcommand_from probe' -s s -l source -r -F
complete -c brace -n '__fish_seen_subcommand_from export' -l to -x -a '(brace export --list 2>/dev/null | string replace -r " +" \t)'
complete -c brace -n '__fish_seen_subcommand_from export' -l weight -x -a 'self total calls'
complete -c brace -n '__fish_seen_subcommand_from report' -l by -x -a 'function thread module file line process'
complete -c brace -n '__fish_seen_subcommand_from report' -s s -l sort -x -a 'calls total self min mean p50 p99 max name module kernel blocked'
complete -c brace -n '__fish_seen_subcommand_from diff' -s s -l sort -x -a 'calls total self min mean p50 p99 max'
complete -c brace -n '__fish_seen_subcommand_from diff' -l by -x -a 'function module file line'
complete -c brace -n '__fish_seen_subcommand_from top' -l by -x -a 'function thread module'
complete -c brace -n '__fish_seen_subcommand_from top' -s s -l sort -x -a 'calls self total mean p99 max name'
complete -c brace -n '__fish_seen_subcommand_from rv' -l model -r -F
complete -c brace -n '__fish_seen_subcommand_from locks' -l by -x -a 'lock site'
complete -c brace -n '__fish_seen_subcommand_from locks' -s s -l sort -x -a 'acquired contended wait wait_mean wait_max hold hold_mean hold_max'
complete -c brace -n '__fish_seen_subcommand_from wakeup' -l by -x -a 'thread way waker function'
complete -c brace -n '__fish_seen_subcommand_from wakeup' -s s -l sort -x -a 'count mean p50 p99 max name'
complete -c brace -n '__fish_seen_subcommand_from syscalls' -l by -x -a 'call thread file error'
complete -c brace -n '__fish_seen_subcommand_from syscalls' -s s -l sort -x -a 'calls errors total min mean p50 p99 max name'
complete -c brace -n '__brace_has mode' -l mode -x -a 'stream overwrite block'
complete -c brace -n '__brace_has color' -l color -x -a 'auto always never'
complete -c brace -n '__brace_has names' -l names -x -a 'short full mangled'
complete -c brace -n '__brace_has session' -l session -x -a '(brace sessions 2>/dev/null)'
