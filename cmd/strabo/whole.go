package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// writeWhole has a file there with all that write writes or, when something goes wrong, as it was before. The file has
// the permissions given, and until it is whole nobody but its owner can read it.
func writeWhole(path string, permissions os.FileMode, write func(io.Writer) error) (err error) {
	fresh, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(fresh.Name()))
		}
	}()
	err = write(fresh)
	if err == nil {
		err = fresh.Chmod(permissions)
	}
	if err == nil {
		err = fresh.Sync()
	}
	if err = errors.Join(err, fresh.Close()); err != nil {
		return err
	}
	return os.Rename(fresh.Name(), path)
}

// writeText is [writeWhole] with a text.
func writeText(path string, permissions os.FileMode, text []byte) error {
	return writeWhole(path, permissions, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
