// Package priority has queues of distinct numbers of 128 bits, in ascending order: a wheel of buckets by their
// digits, a heap, and a sorted list beside a queue for batches. They allocate nothing once their tables have grown.
package priority
