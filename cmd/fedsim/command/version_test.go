package command

import (
	"runtime/debug"
	"testing"

	"fedsim/internal/tools/expect"
)

func TestVersionOf(t *testing.T) {
	checkout := []debug.BuildSetting{
		{Key: "vcs", Value: "git"},
		{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"},
		{Key: "vcs.modified", Value: "true"},
	}
	for _, c := range []struct {
		name string
		info debug.BuildInfo
		want string
	}{
		{"go run, nothing recorded", debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "(devel)"}},
			"(devel)"},
		{"tests record no version", debug.BuildInfo{Main: debug.Module{Path: modulePath}}, "(devel)"},
		{"changed checkout",
			debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "(devel)"}, Settings: checkout},
			"(devel) 0123456789ab+dirty"},
		{"the toolchain has said dirty already",
			debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "v0.1.0+dirty"}, Settings: checkout},
			"v0.1.0+dirty 0123456789ab"},
		{"clean checkout",
			debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "v0.1.0"}, Settings: checkout[:2]},
			"v0.1.0 0123456789ab"},
		{"plugins in a module of their own, whose revision is not ours", debug.BuildInfo{
			Main: debug.Module{Path: "example.com/mine", Version: "v9.9.9"},
			Deps: []*debug.Module{{Path: "example.com/other", Version: "v3.0.0"},
				{Path: modulePath, Version: "v0.2.0"}},
			Settings: checkout,
		}, "v0.2.0"},
		{"plugins beside a checkout", debug.BuildInfo{
			Main: debug.Module{Path: "example.com/mine"},
			Deps: []*debug.Module{{Path: modulePath, Version: "v0.0.0", Replace: &debug.Module{Path: "../fedsim"}}},
		}, "(devel)"},
		{"a binary without fedsim as a module", debug.BuildInfo{Main: debug.Module{Path: "command-line-arguments"}},
			"(devel)"},
	} {
		got := versionOf(&c.info).String()
		expect.That(t, got == c.want, "%s: got %q, want %q", c.name, got, c.want)
	}
}
