package rundir

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"fedsim/config"
	"fedsim/results"
)

// Claim is a resolved scenario and the bits that it gives: what a figure, a report or a link carries, so that a
// reader can run the scenario again.
type Claim struct {
	Scenario []byte
	Hash     results.Hash // of the results of all runs
	Numerics int          // the numeric version of the program that made them
}

// claimForm is the text of a claim. In XML and HTML "&" is "&amp;".
var claimForm = regexp.MustCompile(`s=([A-Za-z0-9_-]+)&(?:amp;)?h=([0-9a-f]{16})&(?:amp;)?n=([0-9]{1,9})`)

// String returns the claim as the fragment of a link, "s=...&h=...&n=...": the scenario (DEFLATE, base64url), the
// hash and the numeric version.
func (c *Claim) String() string {
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err == nil {
		_, err = w.Write(c.Scenario)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err) // a buffer takes all bytes
	}
	return fmt.Sprintf("s=%s&h=%s&n=%d", base64.RawURLEncoding.EncodeToString(packed.Bytes()), c.Hash, c.Numerics)
}

// fragmentForm is the text of a link's fragment: a claim, or a scenario without results.
var fragmentForm = regexp.MustCompile(`^#?s=([A-Za-z0-9_-]+)(?:&h=([0-9a-f]{16})&n=([0-9]{1,9}))?$`)

// mostFragment is the largest size in bytes of a fragment: DEFLATE makes no scenario larger than that.
const mostFragment = config.MaxSource + config.MaxSource/2

// Fragment returns the fragment of a link to a scenario without results.
func Fragment(scenario []byte) string {
	text, _, _ := strings.Cut((&Claim{Scenario: scenario}).String(), "&")
	return text
}

// ReadFragment reads the fragment of a link, which may come from anywhere. Without results its Numerics are 0.
func ReadFragment(fragment string) (*Claim, error) {
	if len(fragment) > mostFragment {
		return nil, fmt.Errorf("the link has %d bytes: a link with a scenario has at most %d", len(fragment),
			mostFragment)
	}
	found := fragmentForm.FindStringSubmatch(fragment)
	if found == nil {
		return nil, errors.New("the link has no scenario: it must end in #s=SCENARIO or #s=SCENARIO&h=HASH&n=VERSION")
	}
	c, err := read(found)
	if err == nil && !utf8.Valid(c.Scenario) { // of JSON, which a page reads
		return nil, errors.New("s=: must be a scenario: it is not UTF-8")
	}
	return c, err
}

// FindClaim returns the first claim in a text, which may come from anywhere; nil: it has none. Its scenario has at
// most config.MaxSource bytes.
func FindClaim(text []byte) (*Claim, error) {
	found := claimForm.FindSubmatch(text)
	if found == nil {
		return nil, nil
	}
	return read([]string{"", string(found[1]), string(found[2]), string(found[3])})
}

// read reads the parts of a claim that a form found.
func read(found []string) (*Claim, error) {
	packed, err := base64.RawURLEncoding.DecodeString(found[1])
	if err != nil {
		return nil, fmt.Errorf("s=: must be base64url: %w", err)
	}
	source, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), config.MaxSource+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("s=: must be a scenario, compressed: %w", err)
	case len(source) > config.MaxSource:
		return nil, fmt.Errorf("s=: the scenario has more than %d bytes", config.MaxSource)
	}
	c := &Claim{Scenario: source}
	if found[3] == "" {
		return c, nil
	}
	if err := c.Hash.UnmarshalText([]byte(found[2])); err != nil {
		return nil, err
	}
	c.Numerics, err = strconv.Atoi(found[3])
	return c, err
}

// ClaimOf returns the claim of complete runs of a resolved scenario.
func ClaimOf(scenario []byte, runs []results.Run) *Claim {
	return &Claim{Scenario: scenario, Hash: HashOf(runs), Numerics: Numerics}
}

// HashOf returns the hash of the results of all runs, in the order of the scenario.
func HashOf(runs []results.Run) results.Hash {
	entries := make([]RunEntry, len(runs))
	for i := range runs {
		entries[i] = RunEntry{EventHash: results.Hash(runs[i].EventHash), ModelHash: results.Hash(runs[i].ModelHash)}
	}
	return resultHash(entries)
}
