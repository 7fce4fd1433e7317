-- wrk: every answer is the file's content, or it is counted as wrong.
local parts = {}
for i = 1, 300 do parts[i] = i .. "\n" end
local right = table.concat(parts)
local threads = {}

function setup(thread) table.insert(threads, thread) end
function init() wrong = 0 end
function response(status, headers, body)
	if status ~= 200 or body ~= right then wrong = wrong + 1 end
end
function done(summary)
	local wrong = 0
	for _, thread in ipairs(threads) do wrong = wrong + thread:get("wrong") end
	local e = summary.errors
	local errors = e.connect + e.read + e.write + e.timeout
	print(string.format("work %d", summary.requests))
	if wrong + errors > 0 then print(string.format("wrong: %d answers, %d errors", wrong, errors)) end
end
