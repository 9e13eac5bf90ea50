package rank

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"slurm-preflight/collectives/protocol"
)

// commands are the supervisor's, read while the rank is busy with an earlier one.
type commands struct {
	queue <-chan protocol.Message // closed at the end of the stream
	err   error                   // why it was closed; set before
	close func()
}

// receive reads commands. A halt cancels the context that it returns at once,
// and for good: the communicator is lost.
func receive(ctx context.Context, in io.Reader) (context.Context, *commands) {
	ctx, cancel := context.WithCancelCause(ctx)
	closed := make(chan struct{})
	queue := make(chan protocol.Message)
	c := &commands{queue: queue, close: func() { cancel(nil); close(closed) }}
	go func() {
		defer close(queue)
		for stream := json.NewDecoder(in); ; {
			var command protocol.Message
			if err := stream.Decode(&command); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				c.err = fmt.Errorf("read command: %w", err)
				return
			}
			if command.Halt != nil {
				cancel(errHalted)
				continue
			}
			select {
			case queue <- command:
			case <-closed:
				return
			}
		}
	}()
	return ctx, c
}
