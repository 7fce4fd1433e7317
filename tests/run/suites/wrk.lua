-- Four kinds of request in turn; the answer to each is known in advance. A connection's
-- answers come in the order of no thread's requests, so the body itself says which it is.
local numbers = {}
for i = 1, 300 do numbers[i] = i .. "\n" end
local right = { ["200"] = {}, ["404"] = { ["none\n"] = true } }
right["200"][table.concat(numbers)] = true
local paths = { "/numbers", "/missing" }
for i = 1, 20 do
	paths[#paths + 1] = "/re/x" .. i
	paths[#paths + 1] = "/proxied/x" .. i
	right["200"]["got x" .. i .. " GET\n"] = true
end

local threads = {}
function setup(thread) table.insert(threads, thread) end

function init()
	good, bad, turn, seen = 0, 0, 0, 0
	kinds = {}
end

function request()
	turn = turn + 1
	return wrk.format("GET", paths[turn % #paths + 1])
end

function response(status, headers, body)
	local known = right[tostring(status)]
	if known and known[body] then good = good + 1 else bad = bad + 1 end
	if not kinds[body] then kinds[body] = true; seen = seen + 1 end
end

function done(summary)
	local good, bad, least = 0, 0, 1e9
	for _, thread in ipairs(threads) do
		good, bad = good + thread:get("good"), bad + thread:get("bad")
		least = math.min(least, thread:get("seen"))
	end
	local e = summary.errors
	local errors = e.connect + e.read + e.write + e.timeout
	print(string.format("responses: %d right, %d wrong, %d errors", good, bad, errors))
	if bad == 0 and errors == 0 and least == 22 then
		print("verdict: all responses right, no errors")
	else
		print(string.format("verdict: %d wrong, %d errors, %d of 22 kinds", bad, errors, least))
	end
end
