package command

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fedsim/internal/licenses"
)

// version is what is known of the binary.
type version struct {
	module   string // version of module fedsim; "(devel)" when it was built from a checkout without one
	revision string // of the checkout it was built in, empty when it was not recorded
	modified bool   // the checkout had changes
}

// readVersion reads what the linker has recorded.
func readVersion() version {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version{module: "(devel)"}
	}
	return versionOf(info)
}

// versionOf finds module fedsim in the build: it is the main module, or in a
// binary with plugins one of those that it needs. The revision is that of the
// main module's checkout.
func versionOf(info *debug.BuildInfo) version {
	const path = "fedsim"
	if info.Main.Path != path {
		for _, m := range info.Deps {
			if m.Path != path {
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

// String returns the version on one line, as manifests hold it.
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
	var notices bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of fedsim and Go and the platform",
		Long: `Print the versions of fedsim and Go and the platform, or with --licenses the license
notices of the modules, scripts and fonts that the program carries.`,
		Example: `  fedsim version
  fedsim version --licenses`,
		Args: takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if notices {
				_, err := io.WriteString(cmd.OutOrStdout(), licenses.Text)
				return err
			}
			_, err := io.WriteString(cmd.OutOrStdout(), versionText())
			return err
		},
	}
	cmd.Flags().BoolVar(&notices, "licenses", false, "print the license notices of what the program carries")
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "licences" {
			name = "licenses"
		}
		return pflag.NormalizedName(name)
	})
	return cmd
}

// versionText is what fedsim version and fedsim --version print.
func versionText() string {
	return fmt.Sprintf("fedsim %s\n%s %s/%s\n", readVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
