-- Tables, strings, closures, coroutines, errors (longjmp), metatables, sorting, the collector.
local out = {}
local function say(...) out[#out + 1] = table.concat({...}, " ") end
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
say("fib", fib(18))
local t = {}
for i = 1, 3000 do t[i] = (i * 7919) % 3001 end
table.sort(t, function(a, b) return a > b end)
say("sort", t[1], t[1500], t[3000])
local function risky(n)
  if n == 0 then error({code = 5}) end
  local ok, e = pcall(risky, n - 1)
  if n % 3 == 0 then error(e, 0) end
  return ok
end
for i = 0, 20 do local ok, e = pcall(risky, i); say(i, tostring(ok), type(e)) end
local gen = coroutine.wrap(function() for i = 1, 500 do coroutine.yield(i * i) end return "end" end)
local sum = 0
for _ = 1, 500 do sum = sum + gen() end
say("gen", sum, gen())
local s = string.rep("the quick brown fox ", 200)
say(#s, select(2, s:gsub("(%w+)", function(w) return w:reverse() end)), s:find("fox", 500, true), ("%5.2f|%q"):format(2 / 3, "a\nb"))
local V = setmetatable({}, {__index = function(_, k) return k .. "!" end, __call = function(_, a) return a * 2 end})
say(V.x, V(21))
for i = 1, 200 do local big = {} for j = 1, 50 do big[j] = {j, tostring(j)} end end
collectgarbage()
local f = assert(load("local a, b = ... return a // b, a % b, a << 3, 'x' .. b"))
say(f(17, 5))
print(table.concat(out, "\n"))
os.exit(12, true)
