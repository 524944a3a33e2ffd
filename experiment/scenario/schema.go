package scenario

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/results"
)

// schema is a JSON Schema, or a part of one.
type schema = map[string]any

// WriteSchema writes the JSON Schema (draft 2020-12) of scenario files for editors: every
// key with its type, default, description and allowed names, and the options of every
// registered algorithm and model. Parse refuses every file that the schema refuses. It
// also checks ranges and combinations of keys, which the schema does not.
func WriteSchema(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(documentSchema()); err != nil {
		return fmt.Errorf("write the schema: %w", err)
	}
	return nil
}

// documentSchema is the schema of a file. Keys of experiments refer to the schemas of the
// keys at the top.
func documentSchema() schema {
	document := config.Fields(&document{Settings: defaultSettings()})
	document = slices.DeleteFunc(document, func(f config.Field) bool { return strings.HasPrefix(f.Key, "methods.") })
	root := object(document)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "fedsim scenario"
	top := root["properties"].(schema)
	top["name"].(schema)["pattern"] = config.NamePattern

	ends := schema{"type": "number"}
	definitions := schema{
		"range": schema{"type": "object", "required": []string{"min", "max"}, "additionalProperties": false,
			"properties": schema{
				"min": ends, "max": ends, "whole": schema{"type": "boolean"},
				"scale": schema{"enum": []string{linearScale, logScale}, "default": linearScale},
			}},
		"lists":     tree("lists", listOf(schema{})),
		"ranged":    tree("ranged", listOf(schema{}), reference("range")),
		"figure":    figureSchema(),
		"no-option": schema{"not": schema{"pattern": `^options(\.|$)`}},
	}
	definitions["keys"] = values("", definitions)
	definitions["set"] = settingsAs()
	definitions["sweep"], definitions["ranges"] = settingsAs("lists"), settingsAs("ranged")
	root["$defs"] = definitions
	described(top, "sweep", reference("sweep"))

	methods(top["methods"].(schema), definitions)
	var tables []schema
	for _, kind := range kindsOfModels() {
		tables = append(tables, kind.complete(top[kind.table].(schema))...)
	}
	share(tables, definitions)
	codecs := top["compression"].(schema)["properties"].(schema)
	up, down := codecs["up_options"].(schema), codecs["down_options"].(schema)
	for key, value := range down["properties"].(schema) {
		if reflect.DeepEqual(up["properties"].(schema)[key], value) {
			down["properties"].(schema)[key] = schema{"$ref": "#" + pointer("compression.up_options."+key)}
		}
	}
	experiment(top["experiment"].(schema)["items"].(schema))
	return root
}

// tree is the schema, under a name, of one of some values, or of tables of them.
func tree(name string, leaves ...any) schema {
	return schema{"anyOf": append(leaves, schema{"type": "object", "additionalProperties": reference(name)})}
}

// settingsAs is the schema of settings whose values also have others, which are definitions.
func settingsAs(others ...string) schema {
	all := []any{reference("keys"), schema{"propertyNames": reference("no-option")}}
	for _, name := range others {
		all = append(all, reference(name))
	}
	return schema{"allOf": all}
}

// values is the schema of a table of settings below a prefix as experiments have it: each key is dotted, or in
// nested tables, or partly both. A value is one of the key, a list of these or a range. Of all settings, without
// a prefix, it has each dotted key; nested tables refer to these. It names each type once, with a pattern of its
// keys.
func values(prefix string, definitions schema) schema {
	properties, patterns := schema{}, schema{`\.`: schema{}}
	if prefix == "" {
		patterns = schema{`^(methods|options)(\.|$)`: schema{}}
	}
	keys := map[string][]string{} // by type
	for _, f := range settingFields() {
		key, below := strings.CutPrefix(f.Key, prefix)
		if !below || strings.HasPrefix(f.Key, "methods") || prefix != "" && strings.Contains(key, ".") {
			continue
		}
		several := func(one schema, others ...any) schema {
			return schema{"anyOf": append([]any{one, schema{"type": "array", "items": one}}, others...)}
		}
		switch {
		case f.Type == "value":
			properties[key], patterns["^"+regexp.QuoteMeta(key)+`\.`] = schema{}, schema{}
		case f.Type != "table" && f.Choices == nil:
			name := strings.NewReplacer(" ", "-", `"`, "").Replace(f.Type)
			definitions[name] = several(typeSchema(f.Type), reference("range"))
			keys[name] = append(keys[name], key)
		case prefix != "":
			properties[key] = reference("keys/properties/" + f.Key)
		case f.Type == "table":
			properties[key] = values(f.Key+".", definitions)
		default:
			properties[key] = several(schema{"$ref": "#" + pointer(f.Key)})
		}
	}
	for name, list := range keys {
		patterns[patternOf(list)] = reference(name)
	}
	return schema{"type": "object", "properties": properties, "patternProperties": patterns,
		"additionalProperties": false}
}

// patternOf is the pattern of dotted keys, which names each of their tables once.
func patternOf(keys []string) string {
	var tables []string
	names := map[string][]string{} // by the table with its dot
	for _, key := range keys {
		table := key[:strings.LastIndex(key, ".")+1]
		if names[table] == nil {
			tables = append(tables, table)
		}
		names[table] = append(names[table], regexp.QuoteMeta(key[len(table):]))
	}
	oneOf := func(list []string) string {
		if len(list) == 1 {
			return list[0]
		}
		return "(" + strings.Join(list, "|") + ")"
	}
	for i, table := range tables {
		tables[i] = regexp.QuoteMeta(table) + oneOf(names[table])
	}
	return "^" + oneOf(tables) + "$"
}

// methods completes the schema of [methods]. The options are those of the
// algorithm, which is named or is the label.
func methods(table, definitions schema) {
	method := object(methodFields())
	described(method["properties"].(schema), "set", reference("set"))
	var byName []any
	var tables []schema
	labels := schema{}
	for _, name := range algorithms.Names() {
		factory, _ := algorithms.Lookup(name)
		options := object(config.Fields(factory.Options()))
		options["description"] = lead(config.Field{Doc: factory.Summary})
		delete(options, "type") // as of any method's
		if _, outside := factory.Options().(algorithms.Outside); outside {
			delete(options, "additionalProperties") // the learner knows its options
		}
		tables = append(tables, options)
		definitions["of-"+name] = schema{"if": schema{"properties": schema{"algorithm": schema{"const": name}}},
			"then": schema{"properties": schema{"options": options}}}
		byName = append(byName, reference("of-"+name))
		labels[name] = reference("of-" + name)
	}
	share(tables, definitions)
	method["dependentSchemas"] = schema{"algorithm": schema{"allOf": byName}}
	definitions["method"] = method
	table["propertyNames"] = schema{"pattern": config.NamePattern}
	table["properties"] = labels
	table["additionalProperties"] = schema{
		"required": []string{"algorithm"}, "properties": schema{"algorithm": schema{"minLength": 1}},
	}
	table["allOf"] = []any{schema{"additionalProperties": reference("method")}}
}

// optionGroup is the options that the same tables have.
type optionGroup struct {
	tables  []int
	options schema
}

// groupOptions returns groups of equal options, by their tables.
func groupOptions(tables []schema) map[string]*optionGroup {
	options, groups := map[string]*optionGroup{}, map[string]*optionGroup{} // by the text of an option; by tables
	for i, table := range tables {
		for key, value := range table["properties"].(schema) {
			text, _ := json.Marshal(schema{key: value})
			if options[string(text)] == nil {
				options[string(text)] = &optionGroup{options: schema{key: value}}
			}
			options[string(text)].tables = append(options[string(text)].tables, i)
		}
	}
	for _, one := range options {
		if of := fmt.Sprint(one.tables); groups[of] == nil {
			groups[of] = one
		} else {
			maps.Copy(groups[of].options, one.options)
		}
	}
	return groups
}

// share makes a definition of the options that the same tables have, where that is shorter, and one of the
// definitions that most of the tables have.
func share(tables []schema, definitions schema) {
	groups := groupOptions(tables)
	names, common := make([][]string, len(tables)), []string(nil)
	for _, of := range slices.Sorted(maps.Keys(groups)) {
		g := groups[of]
		if text, _ := json.Marshal(g.options); (len(g.tables)-1)*len(text) < 40*(len(g.tables)+1) {
			continue
		}
		name := "with-" + slices.Min(slices.Collect(maps.Keys(g.options)))
		for definitions[name] != nil {
			name += "+"
		}
		definitions[name] = schema{"properties": g.options}
		if 2*len(g.tables) > len(tables) {
			common = append(common, name)
		}
		for _, i := range g.tables {
			for key := range g.options {
				delete(tables[i]["properties"].(schema), key)
			}
			names[i] = append(names[i], name)
		}
	}
	if len(common) > 0 {
		definitions["common"] = schema{"allOf": allOf(common)}
	}
	for i, table := range tables {
		isCommon := func(name string) bool { return slices.Contains(common, name) }
		own := slices.DeleteFunc(slices.Clone(names[i]), isCommon)
		if len(common) > 0 && len(own) == len(names[i])-len(common) {
			names[i] = append(own, "common")
		}
		switch len(names[i]) {
		case 0:
			continue
		case 1:
			maps.Copy(table, reference(names[i][0]))
		default:
			table["allOf"] = allOf(names[i])
		}
		delete(table, "additionalProperties")
		table["unevaluatedProperties"] = false
	}
}

// complete completes the schema of the table that names models of the kind and returns the tables of options,
// which are those of the model.
func (k *pluginKind) complete(table schema) []schema {
	keys := table["properties"].(schema)
	if k.key == "protocol" { // methods may have others, whose options the table has as well
		var all []config.Field
		for _, m := range k.models {
			for _, f := range config.Fields(m.options()) {
				if !slices.ContainsFunc(all, func(g config.Field) bool { return g.Key == f.Key }) {
					all = append(all, f)
				}
			}
		}
		described(keys, k.options(), object(all))
		return nil
	}
	described(keys, k.options(), schema{"type": "object"})
	rules, _ := table["allOf"].([]any) // of another kind that the table names
	var tables []schema
	rules = append(rules,
		schema{"if": schema{"required": []string{k.options()}}, "then": schema{"required": []string{k.key}}})
	for _, m := range k.models {
		options := object(config.Fields(m.options()))
		options["description"] = lead(config.Field{Doc: m.summary})
		delete(options, "type") // as of any model's
		tables = append(tables, options)
		rules = append(rules, schema{
			"if":   schema{"required": []string{k.key}, "properties": schema{k.key: schema{"const": m.name}}},
			"then": schema{"properties": schema{k.options(): options}},
		})
	}
	table["allOf"] = rules
	return tables
}

func experiment(table schema) {
	keys := table["properties"].(schema)
	named(table)
	described(keys, "figure", reference("figure"))
	described(keys, "figures", schema{"type": "array", "items": reference("figure")})
	described(keys, "set", reference("set"))
	described(keys, "sweep", reference("sweep"))
	described(keys, "sample", sampleSchema())
	axis := keys["axis"].(schema)["items"].(schema)
	named(axis, "points")
	points := axis["properties"].(schema)["points"].(schema)
	points["minItems"] = 1
	point := points["items"].(schema)
	point["required"] = []string{"label"}
	described(point["properties"].(schema), "set", reference("set"))
	pair := schema{"type": "array", "items": schema{"type": "number"}, "minItems": 2, "maxItems": 2}
	byMethod := schema{"type": "object", "additionalProperties": pair}
	described(keys["table"].(schema)["properties"].(schema), "published",
		schema{"type": "object", "additionalProperties": byMethod})
	described(keys, "tune", schema{"type": "object",
		"additionalProperties": schema{"allOf": []any{reference("keys"), reference("lists")}}})
}

func sampleSchema() schema {
	standard := defaultSample()
	sample := object(config.Fields(&standard))
	sample["required"] = []string{"size", "ranges"}
	described(sample["properties"].(schema), "ranges", reference("ranges"))
	return sample
}

func figureSchema() schema {
	standard := results.DefaultFigure()
	figure := object(config.Fields(&standard))
	keys := figure["properties"].(schema)
	keys["file"].(schema)["pattern"] = "^$|" + config.NamePattern
	keys["x"].(schema)["enum"] = append([]string{"", results.Epsilon}, results.XNames...) // empty: of a distribution
	return figure
}

// named makes a table with a name, which is required as the other keys are.
func named(table schema, required ...string) {
	table["required"] = append([]string{"name"}, required...)
	table["properties"].(schema)["name"].(schema)["pattern"] = config.NamePattern
}

// described replaces the schema of a key and keeps its description.
func described(properties schema, key string, by schema) {
	by["description"] = properties[key].(schema)["description"]
	properties[key] = by
}

func reference(definition string) schema { return schema{"$ref": "#/$defs/" + definition} }

// allOf lists references to definitions.
func allOf(definitions []string) []schema {
	var all []schema
	for _, name := range definitions {
		all = append(all, reference(name))
	}
	return all
}

// listOf is the schema of the values that a key is swept over.
func listOf(value schema) schema {
	return schema{"type": "array", "minItems": 1, "uniqueItems": true, "items": value}
}

// object is the schema of a table with the keys of fields, and no others.
func object(fields []config.Field) schema {
	properties := schema{}
	for i, f := range fields {
		if !strings.Contains(f.Key, ".") {
			properties[f.Key] = property(f, fields[i+1:])
		}
	}
	return schema{"type": "object", "properties": properties, "additionalProperties": false}
}

// property is the schema of a key; among the fields that follow are those of the
// table, or of the tables, it holds.
func property(f config.Field, following []config.Field) schema {
	value := typeSchema(f.Type)
	if names := any(f.Choices); f.Choices != nil && f.Type == "string" {
		value["enum"] = names
	} else if f.Choices != nil {
		value["items"].(schema)["enum"] = names
	}
	switch {
	case f.Type == "table":
		if inner := below(following, f.Key+"."); len(inner) > 0 && !strings.HasPrefix(inner[0].Key, "<name>.") {
			value = object(inner)
		}
	case f.Type == "list of tables":
		value["items"] = object(below(following, f.Key+"[]."))
	}
	value["description"] = lead(f)
	if standard, ok := plain(f.Default); ok && f.Default != `""` {
		value["default"] = standard
	}
	return value
}

// lead is the description of a key in editors: as many sentences and clauses as fit in 90 characters, at least
// one, without its parentheses if it is longer. A list of choices after a colon is left out: editors list them.
// The reference has all of it.
func lead(f config.Field) string {
	if f.Unit != "" {
		f.Doc += " (" + f.Unit + ")"
	}
	led := clauses(f)
	if len(led) > 90 {
		f.Doc = parenthesis.ReplaceAllString(f.Doc, "$1")
		led = clauses(f)
	}
	return led
}

// clauses returns the first clauses of a key's description.
func clauses(f config.Field) string {
	led := f.Doc
	for _, end := range clauseEnd.FindAllStringIndex(f.Doc, -1) {
		first := f.Doc[:end[0]+1]
		inside := len(bracket.FindAllString(first, -1))%2 == 1
		if f.Doc[end[0]+1] == ':' && f.Choices == nil && len(first) < 40 {
			continue // it is the case that the rest is about
		}
		if len(f.Doc) > 90 && !inside && (len(first) <= 90 || led == f.Doc) {
			led = first
		}
	}
	return led
}

// clauseEnd is the end of a sentence or clause, from its last character on; parenthesis is one with those within.
var (
	clauseEnd   = regexp.MustCompile(`[^.;:][.;:] `)
	bracket     = regexp.MustCompile(`[][()]`)
	parenthesis = regexp.MustCompile(` \((?:[^()]|\([^()]*\))*\)([ ,;.:]|$)`)
)

// below returns the fields under a prefix, relative to it.
func below(fields []config.Field, prefix string) []config.Field {
	var found []config.Field
	for _, f := range fields {
		if key, ok := strings.CutPrefix(f.Key, prefix); ok {
			f.Key = key
			found = append(found, f)
		}
	}
	return found
}

// typeSchema is the schema of a type as config.Field names it.
func typeSchema(name string) schema {
	if one, others, ok := strings.Cut(name, " or "); ok {
		return schema{"anyOf": []any{typeSchema(one), typeSchema(others)}}
	}
	if word, err := strconv.Unquote(name); err == nil {
		return schema{"const": word}
	}
	if values, ok := strings.CutPrefix(name, "table of "); ok {
		return schema{"type": "object", "additionalProperties": typeSchema(singular(values))}
	}
	switch name {
	case "table":
		return schema{"type": "object"}
	case "float":
		return schema{"type": "number"}
	case "value":
		return schema{}
	}
	if elements, ok := strings.CutPrefix(name, "list of "); ok {
		return schema{"type": "array", "items": typeSchema(singular(elements))}
	}
	return schema{"type": name}
}

// singular undoes the plural in which config.Field names the elements of a list.
func singular(name string) string {
	if elements, ok := strings.CutPrefix(name, "lists of "); ok {
		return "list of " + elements
	}
	return strings.TrimSuffix(name, "s")
}

// plain returns the value of a TOML literal.
func plain(literal string) (any, bool) {
	if literal == "" {
		return nil, false
	}
	root, err := config.Parse("", []byte("value = "+literal))
	if err != nil {
		panic(fmt.Sprintf("scenarios: the default %s is not TOML: %v", literal, err))
	}
	return root.Child("value").Value(), true
}

// pointer is the JSON pointer to a dotted key within the schema of a table.
func pointer(key string) string {
	return "/properties/" + strings.ReplaceAll(key, ".", "/properties/")
}
