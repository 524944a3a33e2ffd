package scenario

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/internal/rooms/outside/external"
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
	encoder.SetIndent("", "  ")
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

	settings := config.Fields(new(Settings))
	settings = slices.DeleteFunc(settings, func(f config.Field) bool { return strings.HasPrefix(f.Key, "methods") })
	set := laid(settings, "", func(value schema) schema { return value })
	sweep := laid(settings, "", listOf)
	for _, s := range []schema{set, sweep} {
		s["patternProperties"] = schema{`^(methods|devices\.options|network\.options|federation\.(selection|protocol)_options)(\.|$)`: schema{}}
	}
	ranges := laid(settings, "", func(value schema) schema {
		return schema{"anyOf": []any{listOf(value), reference("range")}}
	})
	ranges["patternProperties"] = sweep["patternProperties"]
	ends := schema{"type": "number"}
	interval := schema{"type": "object", "required": []string{"min", "max"}, "additionalProperties": false, "properties": schema{
		"min": ends, "max": ends, "scale": schema{"enum": []string{linearScale, logScale}, "default": linearScale},
		"whole": schema{"type": "boolean"},
	}}
	definitions := schema{"set": set, "sweep": sweep, "ranges": ranges, "range": interval}
	root["$defs"] = definitions
	described(top, "sweep", reference("sweep"))

	methods(top["methods"].(schema), definitions)
	for _, kind := range kindsOfModels() {
		kind.complete(top[kind.table].(schema))
	}
	experiment(top["experiment"].(schema)["items"].(schema))
	return root
}

// methods completes the schema of [methods]. The options are those of the
// algorithm, which is named or is the label.
func methods(table, definitions schema) {
	method := object(methodFields())
	described(method["properties"].(schema), "set", reference("set"))
	var byName []any
	labels := schema{}
	for _, name := range algorithms.Names() {
		factory, _ := algorithms.Lookup(name)
		options := object(config.Fields(factory.Options()))
		options["description"] = factory.Summary
		if name == external.Name {
			delete(options, "additionalProperties") // the learner knows its options
		}
		definitions["options-"+name] = options
		own := schema{"properties": schema{"options": reference("options-" + name)}}
		byName = append(byName, schema{
			"if":   schema{"required": []string{"algorithm"}, "properties": schema{"algorithm": schema{"const": name}}},
			"then": own,
		})
		labels[name] = schema{
			"$ref": "#/$defs/method",
			"if":   schema{"not": schema{"required": []string{"algorithm"}}},
			"then": own,
		}
	}
	method["allOf"] = byName
	definitions["method"] = method
	table["propertyNames"] = schema{"pattern": config.NamePattern}
	table["properties"] = labels
	table["additionalProperties"] = schema{
		"$ref": "#/$defs/method", "required": []string{"algorithm"},
		"properties": schema{"algorithm": schema{"minLength": 1}},
	}
}

// complete completes the schema of the table that names models of the kind: its
// options are those of the model.
func (k *pluginKind) complete(table schema) {
	keys := table["properties"].(schema)
	described(keys, k.options, schema{"type": "object"})
	rules, _ := table["allOf"].([]any) // of another kind that the table names
	if k.key != "protocol" {           // which a method may have by itself
		rules = append(rules, schema{"if": schema{"required": []string{k.options}}, "then": schema{"required": []string{k.key}}})
	}
	for _, m := range k.models {
		options := object(config.Fields(m.options()))
		options["description"] = m.summary
		rules = append(rules, schema{
			"if":   schema{"required": []string{k.key}, "properties": schema{k.key: schema{"const": m.name}}},
			"then": schema{"properties": schema{k.options: options}},
		})
	}
	table["allOf"] = rules
}

func experiment(table schema) {
	keys := table["properties"].(schema)
	named(table)
	described(keys, "figure", figureSchema())
	described(keys, "figures", schema{"type": "array", "items": figureSchema()})
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
	described(keys["table"].(schema)["properties"].(schema), "published", schema{"type": "object", "additionalProperties": byMethod})
	described(keys, "tune", schema{"type": "object", "additionalProperties": tuneSchema()})
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

// tuneSchema is the schema of a tuning grid: lists of values by option key.
func tuneSchema() schema {
	sweep := config.Fields(new(Settings))
	lists := map[string][]any{}
	for _, name := range algorithms.Names() {
		factory, _ := algorithms.Lookup(name)
		for _, f := range config.Fields(factory.Options()) {
			if f.Type != "table" {
				lists[f.Key] = append(lists[f.Key], schema{"$ref": "#/$defs/options-" + name + pointer(f.Key)})
			}
		}
	}
	dotted, nested := schema{}, schema{}
	for _, f := range sweep {
		if path := strings.Split(f.Key, "."); (f.Type != "table" || len(path) == 1) && ownSetting(path) {
			dotted[f.Key] = reference("sweep/properties/" + f.Key)
		}
	}
	for key, types := range lists {
		values := listOf(schema{"anyOf": types})
		dotted["options."+key], nested[key] = values, values
	}
	dotted["options"] = schema{"type": "object", "properties": nested}
	// Others are those of a learner in another process.
	dotted["options"].(schema)["additionalProperties"] = listOf(schema{})
	return schema{"type": "object", "properties": dotted, "patternProperties": schema{`^options\.`: listOf(schema{})}, "additionalProperties": false}
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
	value["description"] = f.Doc
	if f.Unit != "" {
		value["description"] = f.Doc + " (" + f.Unit + ")"
	}
	if standard, ok := plain(f.Default); ok {
		value["default"] = standard
	}
	return value
}

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

// laid is the schema of a table of settings below a prefix as experiments have
// it: each key is dotted, or in nested tables, or partly both. Its values refer to
// the keys at the top, as wrap has them.
func laid(fields []config.Field, prefix string, wrap func(schema) schema) schema {
	properties := schema{}
	for _, f := range fields {
		key, ok := strings.CutPrefix(f.Key, prefix)
		switch {
		case !ok:
		case f.Type == "table":
			properties[key] = laid(fields, f.Key+".", wrap)
		default:
			properties[key] = wrap(schema{"$ref": "#" + pointer(f.Key)})
		}
	}
	return schema{"type": "object", "properties": properties, "additionalProperties": false}
}

// pointer is the JSON pointer to a dotted key within the schema of a table.
func pointer(key string) string {
	return "/properties/" + strings.ReplaceAll(key, ".", "/properties/")
}
