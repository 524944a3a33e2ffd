package scenario

import (
	"encoding/json"
	"fmt"
	"io"
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
	definitions["settings"] = values("", definitions)
	definitions["set"] = settingsAs()
	definitions["sweep"], definitions["ranges"] = settingsAs("lists"), settingsAs("ranged")
	root["$defs"] = definitions
	described(top, "sweep", reference("sweep"))

	methods(top["methods"].(schema), definitions)
	for _, kind := range kindsOfModels() {
		kind.complete(top[kind.table].(schema))
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
	all := []any{reference("settings"), schema{"propertyNames": reference("no-option")}}
	for _, name := range others {
		all = append(all, reference(name))
	}
	return schema{"allOf": all}
}

// values is the schema of a table of settings below a prefix as experiments have it: each key is dotted, or in
// nested tables, or partly both. A value is one of the key, a list of these or a range: the schema names each
// type once, with a pattern of its keys.
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
		case f.Type == "table":
			properties[key] = reference(f.Key)
			if definitions[f.Key] == nil {
				definitions[f.Key] = values(f.Key+".", definitions)
			}
		case f.Type == "value":
			properties[key], patterns["^"+regexp.QuoteMeta(key)+`\.`] = schema{}, schema{}
		case f.Choices != nil:
			properties[key] = reference(f.Key)
			definitions[f.Key] = several(schema{"$ref": "#" + pointer(f.Key)})
		default:
			name := strings.NewReplacer(" ", "-", `"`, "").Replace(f.Type)
			definitions[name] = several(typeSchema(f.Type), reference("range"))
			keys[name] = append(keys[name], regexp.QuoteMeta(key))
		}
	}
	for name, list := range keys {
		patterns["^("+strings.Join(list, "|")+")$"] = reference(name)
	}
	return schema{"type": "object", "properties": properties, "patternProperties": patterns,
		"additionalProperties": false}
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
		options["description"] = factory.Summary
		if _, outside := factory.Options().(algorithms.Outside); outside {
			delete(options, "additionalProperties") // the learner knows its options
		}
		tables = append(tables, options)
		definitions["of-"+name] = schema{"properties": schema{"options": options}}
		byName = append(byName, schema{"if": schema{"properties": schema{"algorithm": schema{"const": name}}},
			"then": reference("of-" + name)})
		labels[name] = schema{"$ref": "#/$defs/method", "if": reference("unnamed"), "then": reference("of-" + name)}
	}
	share(tables, definitions)
	method["dependentSchemas"] = schema{"algorithm": schema{"allOf": byName}}
	definitions["unnamed"] = schema{"not": schema{"required": []string{"algorithm"}}}
	definitions["method"] = method
	table["propertyNames"] = schema{"pattern": config.NamePattern}
	table["properties"] = labels
	table["additionalProperties"] = schema{
		"$ref": "#/$defs/method", "required": []string{"algorithm"},
		"properties": schema{"algorithm": schema{"minLength": 1}},
	}
}

// share makes definitions of the options that tables have in common: one of those of most tables, and one of each
// other option of several tables.
func share(tables []schema, definitions schema) {
	text := func(key string, option any) string {
		value, _ := json.Marshal(option)
		return key + string(value)
	}
	counts, common := map[string]int{}, schema{}
	for _, table := range tables {
		for key, option := range table["properties"].(schema) {
			if counts[text(key, option)]++; 2*counts[text(key, option)] > len(tables) {
				common[key] = option
			}
		}
	}
	definitions["common"] = schema{"properties": common}
	for _, table := range tables {
		own := table["properties"].(schema)
		all := true
		for key, option := range common {
			all = all && text(key, own[key]) == text(key, option)
		}
		for key, option := range own {
			name := "option-" + key
			switch first, named := definitions[name]; {
			case all && common[key] != nil:
				delete(own, key)
			case counts[text(key, option)] > 1 && (!named || text(key, first) == text(key, option)):
				definitions[name], own[key] = option, reference(name)
			}
		}
		if all {
			delete(table, "additionalProperties")
			table["$ref"], table["unevaluatedProperties"] = "#/$defs/common", false
		}
	}
}

// complete completes the schema of the table that names models of the kind: its
// options are those of the model.
func (k *pluginKind) complete(table schema) {
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
		return
	}
	described(keys, k.options(), schema{"type": "object"})
	rules, _ := table["allOf"].([]any) // of another kind that the table names
	rules = append(rules,
		schema{"if": schema{"required": []string{k.options()}}, "then": schema{"required": []string{k.key}}})
	for _, m := range k.models {
		options := object(config.Fields(m.options()))
		options["description"] = m.summary
		rules = append(rules, schema{
			"if":   schema{"required": []string{k.key}, "properties": schema{k.key: schema{"const": m.name}}},
			"then": schema{"properties": schema{k.options(): options}},
		})
	}
	table["allOf"] = rules
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
		"additionalProperties": schema{"allOf": []any{reference("settings"), reference("lists")}}})
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
// one. The reference has the others.
func lead(f config.Field) string {
	if f.Unit != "" {
		f.Doc += " (" + f.Unit + ")"
	}
	led := f.Doc
	for _, end := range clauseEnd.FindAllStringIndex(f.Doc, -1) {
		first := f.Doc[:end[0]+1]
		whole := strings.Count(first, "(") == strings.Count(first, ")")
		if len(f.Doc) > 90 && whole && (len(first) <= 90 || led == f.Doc) {
			led = first
		}
	}
	return led
}

// clauseEnd is the end of a sentence or clause, from its last character on.
var clauseEnd = regexp.MustCompile(`[^.;][.;] `)

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
