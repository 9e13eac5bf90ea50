package nccl

/*
#include "nccl.h"
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// The operations are queued on a stream and move float32 values; count is what
// NCCL's function of that name takes. Buffers must stay until the stream is
// past the operation or Abort has returned.

// AllReduce queues the sum over all ranks. send and recv may be the same address.
func (c *Comm) AllReduce(send, recv uintptr, count int, stream uintptr) error {
	return c.queue("ncclAllReduce", count, func(comm unsafe.Pointer) C.int {
		return C.nccl_all_reduce(C.uintptr_t(c.library.call.allReduce),
			C.uintptr_t(send), C.uintptr_t(recv), C.size_t(count), comm, C.uintptr_t(stream))
	})
}

// AllGather queues the delivery of count values of each rank to all; recv has room for the blocks of all ranks.
func (c *Comm) AllGather(send, recv uintptr, count int, stream uintptr) error {
	return c.queue("ncclAllGather", count, func(comm unsafe.Pointer) C.int {
		return C.nccl_all_gather(C.uintptr_t(c.library.call.allGather),
			C.uintptr_t(send), C.uintptr_t(recv), C.size_t(count), comm, C.uintptr_t(stream))
	})
}

// ReduceScatter queues the sum over all ranks, of which each gets its block of
// count values; send has the blocks of all ranks.
func (c *Comm) ReduceScatter(send, recv uintptr, count int, stream uintptr) error {
	return c.queue("ncclReduceScatter", count, func(comm unsafe.Pointer) C.int {
		return C.nccl_reduce_scatter(C.uintptr_t(c.library.call.reduceScatter),
			C.uintptr_t(send), C.uintptr_t(recv), C.size_t(count), comm, C.uintptr_t(stream))
	})
}

// Broadcast queues the delivery of the root's send to every rank's recv.
func (c *Comm) Broadcast(send, recv uintptr, count, root int, stream uintptr) error {
	return c.queue("ncclBroadcast", count, func(comm unsafe.Pointer) C.int {
		return C.nccl_broadcast(C.uintptr_t(c.library.call.broadcast),
			C.uintptr_t(send), C.uintptr_t(recv), C.size_t(count), C.int(root), comm, C.uintptr_t(stream))
	})
}

// Reduce queues the sum over all ranks, delivered to the root's recv.
func (c *Comm) Reduce(send, recv uintptr, count, root int, stream uintptr) error {
	return c.queue("ncclReduce", count, func(comm unsafe.Pointer) C.int {
		return C.nccl_reduce(C.uintptr_t(c.library.call.reduce),
			C.uintptr_t(send), C.uintptr_t(recv), C.size_t(count), C.int(root), comm, C.uintptr_t(stream))
	})
}

// AllToAll queues a group of sends and receives: a block of count values to
// each of so many ranks, and one from each; both buffers have the blocks of all ranks.
func (c *Comm) AllToAll(send, recv uintptr, count, ranks int, stream uintptr) error {
	return c.queue("ncclSend and ncclRecv", count, func(comm unsafe.Pointer) C.int {
		return C.nccl_all_to_all(c.library.messages(),
			C.uintptr_t(send), C.uintptr_t(recv), C.size_t(count), C.int(ranks), comm, C.uintptr_t(stream))
	})
}

// SendRecv queues a group of one send and one receive of count values.
func (c *Comm) SendRecv(send uintptr, to int, recv uintptr, from, count int, stream uintptr) error {
	return c.queue("ncclSend and ncclRecv", count, func(comm unsafe.Pointer) C.int {
		return C.nccl_send_recv(c.library.messages(),
			C.uintptr_t(send), C.int(to), C.uintptr_t(recv), C.int(from), C.size_t(count), comm, C.uintptr_t(stream))
	})
}

// queue calls an operation on an open communicator.
func (c *Comm) queue(call string, count int, operation func(comm unsafe.Pointer) C.int) error {
	if c.closed.Load() {
		return ErrClosed
	}
	if count < 0 {
		return fmt.Errorf("%s of %d elements is not possible", call, count)
	}
	comm := c.handle()
	return c.library.failure(call, operation(comm), comm)
}

func (l *Library) messages() C.nccl_messages {
	return C.nccl_messages{
		group_start: C.uintptr_t(l.call.groupStart), group_end: C.uintptr_t(l.call.groupEnd),
		send: C.uintptr_t(l.call.send), recv: C.uintptr_t(l.call.recv),
	}
}
