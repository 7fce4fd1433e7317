// Stacks that grow, a hundred goroutines, a collection, a panic recovered; ends with 5.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync"
)

//go:noinline
func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

//go:noinline
func deep(n int) int {
	var pad [20]int
	if n == 0 {
		return 1
	}
	pad[n%20] = n
	return deep(n-1) + pad[n%20] - n
}

//go:noinline
func worker(i int, out chan<- int) { out <- deep(1000+i) + fib(10) }

func main() {
	out := make(chan int)
	var wg sync.WaitGroup
	for i := 0; i < 100; i++ {
		wg.Add(1)
		go func(i int) { defer wg.Done(); worker(i, out) }(i)
	}
	go func() { wg.Wait(); close(out) }()
	n := 0
	for v := range out {
		n += v
	}
	runtime.GC()
	words := strings.Fields(strings.Repeat("to be or not ", 500))
	sort.Strings(words)
	fmt.Println(n, len(words), words[0], fib(15))
	defer func() { fmt.Println("recovered", recover()); os.Exit(5) }()
	var p *int
	fmt.Println(*p)
}
