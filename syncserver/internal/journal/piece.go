package journal

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/pack"
)

// A snapshot is stored in pieces, each in a message of its own. A piece is
//
//	pieceMagic, whose last byte is the version of the format of snapshots
//	checksum of what follows, four bytes, little end first
//	key, last, checksum of the whole snapshot, how many pieces it has, number of the piece from 0
//	text
//
// What does not begin like that is of another format.

const (
	pieceMagic = "strabo\x01"
	// pieceSize is how much of a snapshot one piece has at the most.
	pieceSize = 512 << 10
)

// pieceOf identifies a snapshot. Two that reach as far may be there, by two servers, and differ in how secrets are
// sealed or which refusals are left.
type pieceOf struct {
	last     uint64 // up to where in the stream it reaches
	checksum uint32
	pieces   uint64
}

// piece is one piece of a snapshot.
type piece struct {
	of     pieceOf
	key    enactment.Key
	number uint64
	text   string
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(text []byte) uint32 { return crc32.Checksum(text, castagnoli) }

// cut cuts a snapshot into pieces.
func cut(key enactment.Key, last uint64, text []byte) [][]byte {
	var pieces [][]byte
	parts := slices.Collect(slices.Chunk(text, pieceSize))
	whole := uint64(checksum(text))
	for n, part := range parts {
		p := make([]byte, 0, len(part)+len(key)+64)
		p = append(append(p, pieceMagic...), 0, 0, 0, 0)
		p = pack.AppendText(p, string(key))
		for _, number := range []uint64{last, whole, uint64(len(parts)), uint64(n)} {
			p = pack.AppendNumber(p, number)
		}
		p = append(p, part...)
		binary.LittleEndian.PutUint32(p[len(pieceMagic):], checksum(p[len(pieceMagic)+4:]))
		pieces = append(pieces, p)
	}
	return pieces
}

// readPiece reads what cut wrote; false if it is damaged or of another format.
func readPiece(message []byte) (piece, bool) {
	const head = len(pieceMagic) + 4
	if len(message) < head || string(message[:len(pieceMagic)]) != pieceMagic ||
		binary.LittleEndian.Uint32(message[len(pieceMagic):]) != checksum(message[head:]) {
		return piece{}, false
	}
	in := pack.NewReader(string(message[head:]))
	p := piece{key: enactment.Key(in.Text())}
	p.of = pieceOf{last: in.Number(), checksum: uint32(in.Number()), pieces: in.Number()}
	p.number = in.Number()
	p.text = in.Bytes(in.Left())
	return p, !in.Bad()
}
