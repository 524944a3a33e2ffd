package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// child is a peer in a separate process. It reads its work from its input, writes its
// name, and then answers each line with a line.
type child struct {
	name    string
	command *exec.Cmd
	in      io.WriteCloser
	answers *bufio.Reader
	errors  bytes.Buffer
}

// startChild starts a peer and sends its work: a line and then arrays in native byte
// order.
func startChild(command *exec.Cmd, head string, arrays ...any) (*child, error) {
	c := &child{command: command}
	command.Stderr = &c.errors
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.answers = bufio.NewReaderSize(out, 1<<16)
	if c.in, err = command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	if err := c.give(head, arrays); err != nil {
		return nil, c.failed(err)
	}
	if c.name, err = c.answer(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *child) give(head string, arrays []any) error {
	w := bufio.NewWriterSize(c.in, 1<<20)
	if _, err := fmt.Fprintln(w, head); err != nil {
		return err
	}
	for _, values := range arrays {
		if err := binary.Write(w, binary.NativeEndian, values); err != nil {
			return err
		}
	}
	return w.Flush()
}

// ask sends a line and returns the answer.
func (c *child) ask(format string, args ...any) (string, error) {
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		return "", c.failed(err)
	}
	return c.answer()
}

// askNumber sends a line and returns the number in the answer.
func (c *child) askNumber(format string, args ...any) (float64, error) {
	text, err := c.ask(format, args...)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(text, 64)
}

// askAll sends a line and returns the values in the answer, separated by spaces.
func askAll[T any](c *child, line string, parse func(string) (T, error)) (values []T, err error) {
	text, err := c.ask("%s", line)
	if err != nil {
		return nil, err
	}
	for field := range strings.FieldsSeq(text) {
		value, err := parse(field)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

func parseFloat(s string) (float64, error) { return strconv.ParseFloat(s, 64) }

func parseInt(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }

func (c *child) answer() (string, error) {
	text, err := c.answers.ReadString('\n')
	if err != nil {
		return "", c.failed(err)
	}
	return strings.TrimSpace(text), nil
}

// failed ends the process and returns an error with its standard error.
func (c *child) failed(err error) error {
	c.close()
	if said := strings.TrimSpace(c.errors.String()); said != "" {
		err = fmt.Errorf("%w: %s", err, said)
	}
	return fmt.Errorf("%s: %w", c.command.Path, err)
}

// close closes the input, which ends the process.
func (c *child) close() {
	_ = c.in.Close()
	_ = c.command.Wait() // failures show in the answers
}
