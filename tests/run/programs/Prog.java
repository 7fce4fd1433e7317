/* Compiled code that calls the virtual machine: stack traces, collections, faults, threads. Until a line comes, if asked. */
import java.util.HashMap;

public class Prog {
	static int fib(int n)
	{
		return n < 2 ? n : fib(n - 1) + fib(n - 2);
	}

	static int frames(Object nothing)
	{
		try {
			return nothing.hashCode();
		} catch (NullPointerException e) {
			return e.getStackTrace().length;
		}
	}

	static int round() throws Exception
	{
		HashMap<String, Integer> counts = new HashMap<>();
		Thread[] threads = new Thread[3];
		int n = 0;

		for (int i = 0; i < 500; i++)
			n += frames(null);
		for (int i = 0; i < 5000; i++)
			counts.merge("k" + i % 100, 1, Integer::sum);
		for (int i = 0; i < threads.length; i++)
			(threads[i] = new Thread(() -> fib(18))).start();
		for (Thread t : threads)
			t.join();
		System.gc();
		return n + counts.size() + fib(22);
	}

	public static void main(String[] args) throws Exception
	{
		int first = round();

		System.out.println(first);
		while (args.length > 0 && System.in.available() == 0)
			if (round() != first)
				throw new Error("another result");
		System.out.println("right");
	}
}
