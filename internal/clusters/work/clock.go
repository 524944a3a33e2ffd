package work

import (
	"os"
	"path/filepath"
	"time"
)

// serverClock is the clock of the file server, which dates the heartbeats of all machines. Where its
// folder cannot be written, it is the local clock. It is not safe for concurrent use.
type serverClock struct {
	local func() time.Time
	path  string        // a file that it writes and removes, to see its time
	asked time.Time     // the local time of the last look; zero: never
	ahead time.Duration // of the local clock
}

// askEvery is the least time between two looks.
const askEvery = 10 * time.Second

func (d *Dir) clock(name string, local func() time.Time) *serverClock {
	return &serverClock{local: local, path: filepath.Join(d.path, claimsDir, "."+name)}
}

func (c *serverClock) now() time.Time {
	local := c.local()
	if c.asked.IsZero() || local.Sub(c.asked) >= askEvery {
		c.asked = local
		if os.WriteFile(c.path, []byte("now\n"), 0o666) == nil {
			if info, err := os.Stat(c.path); err == nil {
				c.ahead = info.ModTime().Sub(local)
			}
		}
		_ = os.Remove(c.path) // it may not be there
	}
	return local.Add(c.ahead)
}
