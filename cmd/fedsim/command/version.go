package command

import (
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fedsim/internal/tools/licenses"
)

// version identifies the binary.
type version struct {
	module   string // version of module fedsim; "(devel)" if the checkout has none
	revision string // of the checkout; empty if not recorded
	modified bool   // the checkout had uncommitted changes
}

// modulePath is the path of module fedsim, of which this package is a part.
var modulePath = strings.TrimSuffix(reflect.TypeFor[version]().PkgPath(), "/cmd/fedsim/command")

// stamp is the version of a build without a repository, in the form of
// [version.String]; the linker sets it (python/hatch_build.py).
var stamp string

// readVersion returns the version that the linker recorded.
func readVersion() version {
	if module, revision, _ := strings.Cut(stamp, " "); module != "" {
		return version{module: module, revision: revision}
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version{module: "(devel)"}
	}
	return versionOf(info)
}

// versionOf returns the version of module fedsim in a build. In a binary with plugins,
// fedsim is a dependency of the main module. The revision is that of the checkout of
// the main module.
func versionOf(info *debug.BuildInfo) version {
	if info.Main.Path != modulePath {
		for _, m := range info.Deps {
			if m.Path != modulePath {
				continue
			}
			if m.Replace != nil {
				m = m.Replace
			}
			if m.Version != "" {
				return version{module: m.Version}
			}
		}
		return version{module: "(devel)"}
	}
	v := version{module: info.Main.Version}
	if v.module == "" {
		v.module = "(devel)"
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.revision = s.Value
		case "vcs.modified":
			v.modified = s.Value == "true"
		}
	}
	return v
}

// String returns the version in one line, as in manifests.
func (v version) String() string {
	text := v.module
	if v.revision != "" {
		text += " " + v.revision[:min(12, len(v.revision))]
		if v.modified && !strings.HasSuffix(v.module, "+dirty") {
			text += "+dirty"
		}
	}
	return text
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the versions of fedsim and Go, and the platform",
		Example: `  fedsim version`,
		Args:    takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printText(cmd.OutOrStdout(), versionText())
		},
	}
}

// addLicenses adds the flag --licenses to the root.
func addLicenses(root *cobra.Command) {
	notices := root.Flags().Bool("licenses", false, "print the license notices of the parts of the program")
	root.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "licences" {
			name = "licenses"
		}
		return pflag.NormalizedName(name)
	})
	help := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *notices {
			return printText(cmd.OutOrStdout(), licenses.Text)
		}
		return help(cmd, args)
	}
}

// versionText is the output of fedsim version and fedsim --version.
func versionText() string {
	return fmt.Sprintf("fedsim %s\n%s %s/%s\n", readVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
