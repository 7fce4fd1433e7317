/* Methods that ask who called them, exceptions, threads, collections. Until a line comes, if asked. */
using System;
using System.Reflection;
using System.Threading;

class Prog {
	static int Fib(int n)
	{
		return n < 2 ? n : Fib(n - 1) + Fib(n - 2);
	}

	static int Round()
	{
		int n = MethodBase.GetCurrentMethod().Name.Length + Assembly.GetExecutingAssembly().GetName().Name.Length;
		object nothing = null;
		Thread[] threads = new Thread[3];

		n += Environment.StackTrace.Contains("Round") ? 100 : 0;
		for (int i = 0; i < 200; i++)
			try {
				nothing.ToString();
			} catch (NullReferenceException e) {
				n += e.StackTrace.Length > 0 ? 1 : 0;
			}
		for (int i = 0; i < threads.Length; i++)
			(threads[i] = new Thread(() => Fib(18))).Start();
		foreach (Thread t in threads)
			t.Join();
		GC.Collect();
		return n + Fib(18);
	}

	static int Main(string[] args)
	{
		int first = Round();
		bool ended = false;

		Console.WriteLine(first);
		if (args.Length > 0)
			new Thread(() => { Console.ReadLine(); ended = true; }).Start();
		while (args.Length > 0 && !ended)
			if (Round() != first)
				return 1;
		Console.WriteLine("right");
		return 0;
	}
}
