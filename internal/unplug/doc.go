// Package unplug proves that the tests which tables name for a handler fail when
// the handler is taken out: a test that passes without it tests something else.
//
// It owns how a handler is taken out of copies of the source and which tests are
// run then. What is taken out is an edit as package plant makes them, with a
// question in it whether a named point is off in this process; so each package is
// compiled once, and the source itself knows nothing of it. It must not know what
// the handlers do. Its own tests, which call it, have the edits of both
// controllers and what each row of their tables takes out.
//
//	unplug.Bite(t, unplug.Plan{
//		Root: "../..",
//		Edits: []plant.Edit{{
//			"zkcontroller/machine/machine.go", "\tif !m.active {\n",
//			"\tif unplugged(fmt.Sprintf(\"event %T\", in)) {\n\t\treturn\n\t}\n\tif !m.active {\n",
//		}},
//		Cases: []unplug.Case{{
//			Name: "TopicChange", Handlers: []string{"event machine.TopicChange"},
//			Tests: []testtable.Test{{Package: "../../zkcontroller/machine", Run: "TestStories/lifecycle"}},
//		}},
//	})
package unplug
