package lsp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// mostHeader is the most bytes of the header of a message.
	mostHeader = 4 << 10
	// mostContent is the most bytes of a message that is read. A larger one is skipped.
	mostContent = 8 << 20
	// mostSkipped is the most bytes that are skipped; a message said to be larger than that is no message.
	mostSkipped = 1 << 30
)

var (
	// ErrFrame says that the input is not what the base protocol of LSP asks for, and that nothing after it can be read.
	ErrFrame = errors.New("lsp: not a message of the language server protocol")
	// errTooLarge says that a message was skipped.
	errTooLarge = fmt.Errorf("lsp: a message of more than %d bytes is not read", mostContent)
)

// readFrame reads one message of the base protocol: header lines that end in CRLF (a lone LF is taken too), a blank
// line, and as many bytes as Content-Length says. At the end of the input before a message it gives io.EOF; errTooLarge
// leaves the input at the next message. Memory grows with what has come, not with what is announced.
func readFrame(in *bufio.Reader) ([]byte, error) {
	length, err := readHeader(in)
	if err != nil {
		return nil, err
	}
	if length > mostContent {
		if _, err := io.CopyN(io.Discard, in, length); err != nil {
			return nil, cutShort(err)
		}
		return nil, errTooLarge
	}
	content, err := io.ReadAll(io.LimitReader(in, length))
	if err == nil && int64(len(content)) < length {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, cutShort(err)
	}
	return content, nil
}

func readHeader(in *bufio.Reader) (length int64, err error) {
	length = -1
	for read := 0; ; {
		line, err := readLine(in, mostHeader-read)
		if err != nil {
			if errors.Is(err, io.EOF) && read == 0 && line == "" {
				return 0, io.EOF
			}
			return 0, cutShort(err)
		}
		read += len(line)
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if line == "" {
			break
		}
		name, value, found := strings.Cut(line, ":")
		if !found {
			return 0, fmt.Errorf("%w: a header line without a colon", ErrFrame)
		}
		if !strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			continue
		}
		length, err = strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if err != nil || length < 0 || length > mostSkipped {
			return 0, fmt.Errorf("%w: a Content-Length that is none", ErrFrame)
		}
	}
	if length < 0 {
		return 0, fmt.Errorf("%w: no Content-Length", ErrFrame)
	}
	return length, nil
}

// readLine reads up to and with the next line feed, at most so many bytes.
func readLine(in *bufio.Reader, most int) (string, error) {
	var line strings.Builder
	for line.Len() < most {
		b, err := in.ReadByte()
		if err != nil {
			return line.String(), err
		}
		line.WriteByte(b)
		if b == '\n' {
			return line.String(), nil
		}
	}
	return line.String(), errors.New("the header is too long")
}

// cutShort is about an input that ends, or fails, inside a message.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %w", ErrFrame, err)
}

// writeFrame writes one message in one call.
func writeFrame(out io.Writer, content []byte) error {
	frame := fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(content))
	if _, err := out.Write(append(frame, content...)); err != nil {
		return fmt.Errorf("lsp: cannot write a message: %w", err)
	}
	return nil
}
