package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
)

// member is a file of an archive.
type member struct {
	name, path string // in the archive; on the disk
	mode       fs.FileMode
}

// members lists the files of a folder in the order of their names.
func members(folder, prefix string) ([]member, error) {
	var found []member
	err := filepath.WalkDir(folder, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(folder, p)
		mode := fs.FileMode(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		found = append(found, member{name: path.Join(prefix, filepath.ToSlash(inside)), path: p, mode: mode})
		return err
	})
	return found, err
}

// archive packs a program and the documents: a zip for Windows, a tar.gz elsewhere.
func (r *release) archive(name, goos, program, docs string) error {
	all, err := members(docs, name)
	if err != nil {
		return err
	}
	if goos == "windows" {
		return r.zip(name+".zip", append([]member{{name + "/fedsim.exe", program, 0o755}}, all...))
	}
	return r.tar(name+".tar.gz", append([]member{{name + "/fedsim", program, 0o755}}, all...))
}

// create makes a file of the release and closes it after its content is written.
func (r *release) create(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(filepath.Join(r.out, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// tar writes a compressed tar archive whose bytes depend on names, modes and contents alone.
func (r *release) tar(name string, list []member) error {
	return r.create(name, func(w io.Writer) error {
		compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		packed := tar.NewWriter(compressed)
		for _, m := range list {
			content, err := os.ReadFile(m.path)
			if err != nil {
				return err
			}
			header := &tar.Header{Name: m.name, Mode: int64(m.mode), Size: int64(len(content)), ModTime: r.time,
				Format: tar.FormatPAX}
			if err := packed.WriteHeader(header); err != nil {
				return err
			}
			if _, err := packed.Write(content); err != nil {
				return err
			}
		}
		return errors.Join(packed.Close(), compressed.Close())
	})
}

// zip writes a zip archive whose bytes depend on names, modes and contents alone.
func (r *release) zip(name string, list []member) error {
	return r.create(name, func(w io.Writer) error {
		packed := zip.NewWriter(w)
		for _, m := range list {
			header := &zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: r.time}
			header.SetMode(m.mode)
			file, err := packed.CreateHeader(header)
			if err != nil {
				return err
			}
			content, err := os.ReadFile(m.path)
			if err != nil {
				return err
			}
			if _, err := file.Write(content); err != nil {
				return err
			}
		}
		return packed.Close()
	})
}

// deb writes a Debian package: the program, manual pages, completions, scenarios as examples.
func (r *release) deb(goarch, program, docs string) error {
	var contents files.Contents
	add := func(source, target string, mode fs.FileMode) {
		contents = append(contents, &files.Content{Source: source, Destination: target,
			FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.time, Owner: "root", Group: "root"}})
	}
	add(program, "/usr/bin/fedsim", 0o755)
	all, err := members(docs, "")
	if err != nil {
		return err
	}
	const share = "/usr/share/"
	for _, m := range all {
		switch base := path.Base(m.name); {
		case strings.HasPrefix(m.name, "man/"):
			add(m.path, share+m.name, 0o644)
		case base == "fedsim.bash":
			add(m.path, share+"bash-completion/completions/fedsim", 0o644)
		case base == "_fedsim":
			add(m.path, share+"zsh/vendor-completions/_fedsim", 0o644)
		case base == "fedsim.fish":
			add(m.path, share+"fish/vendor_completions.d/fedsim.fish", 0o644)
		case base == "LICENSE":
			add(m.path, share+"doc/fedsim/copyright", 0o644)
		case base == "fedsim.ps1":
		default:
			add(m.path, share+"doc/fedsim/"+m.name, 0o644)
		}
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "fedsim", Arch: goarch, Platform: "linux", Version: r.version, Section: "science", Priority: "optional",
		Maintainer: "The fedsim authors <fedsim@localhost>",
		Description: "simulator of federated networks\n Simulates federated learning on slow, " +
			"unreliable devices in virtual time.",
		License: "BSD-3-Clause", MTime: r.time, Overridables: nfpm.Overridables{Contents: contents},
	})
	if err := nfpm.PrepareForPackager(info, "deb"); err != nil {
		return err
	}
	return r.create(deb.Default.ConventionalFileName(info),
		func(w io.Writer) error { return deb.Default.Package(info, w) })
}

// materials writes the modules of a program, as it records them itself, as a bill of materials
// (CycloneDX 1.6).
func (r *release) materials(name, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	component := func(kind cyclonedx.ComponentType, module, version string) cyclonedx.Component {
		purl := "pkg:golang/" + module + "@" + version
		return cyclonedx.Component{BOMRef: purl, Type: kind, Name: module, Version: version, PackageURL: purl}
	}
	bom := cyclonedx.NewBOM()
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, []byte(name+" "+r.commit)).URN()
	main := component(cyclonedx.ComponentTypeApplication, info.Main.Path, "v"+r.version)
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.time.Format("2006-01-02T15:04:05Z"), Component: &main}
	list := []cyclonedx.Component{
		component(cyclonedx.ComponentTypeLibrary, "std", strings.TrimPrefix(info.GoVersion, "go")),
	}
	refs := []string{list[0].BOMRef}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		list = append(list, component(cyclonedx.ComponentTypeLibrary, m.Path, m.Version))
		refs = append(refs, list[len(list)-1].BOMRef)
	}
	bom.Components = &list
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	return r.create(name+".cdx.json", func(w io.Writer) error {
		return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom,
			cyclonedx.SpecVersion1_6)
	})
}

// sources packs the files of the commit with the modules that they need, to build without a
// network.
func (r *release) sources() error {
	if err := r.run(r.source, nil, "go", "mod", "vendor"); err != nil {
		return err
	}
	for _, made := range []string{"python/build", "python/version.txt"} {
		if err := os.RemoveAll(filepath.Join(r.source, made)); err != nil {
			return err
		}
	}
	all, err := members(r.source, filepath.Base(r.source))
	if err != nil {
		return err
	}
	return r.tar(filepath.Base(r.source)+"-source.tar.gz", all)
}

// checksums writes the SHA-256 of all files, as sha256sum does.
func (r *release) checksums() error {
	all, err := members(r.out, "")
	if err != nil {
		return err
	}
	var lines bytes.Buffer
	for _, m := range all {
		content, err := os.ReadFile(m.path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(content), m.name)
		fmt.Fprintf(r.log, "%6.1f MB  %s\n", float64(len(content))/1e6, m.name)
	}
	return r.create("SHA256SUMS", func(w io.Writer) error { _, err := lines.WriteTo(w); return err })
}
