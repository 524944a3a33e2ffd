package main

import (
	"encoding/json"
	"syscall/js"
)

// main gives JavaScript the function fedsim(request, tell, done): texts in JSON, and a file as an Uint8Array.
func main() {
	p := &page{}
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err) // answers can be marshaled
		}
		return string(b)
	}
	js.Global().Set("fedsim", js.FuncOf(func(_ js.Value, args []js.Value) any {
		var q request
		if err := json.Unmarshal([]byte(args[0].String()), &q); err != nil {
			panic(err) // it is from the page
		}
		if q.Op == "cancel" {
			if p.cancel != nil {
				p.cancel()
			}
			return nil
		}
		tell, done := args[1], args[2]
		go func() {
			answer, content := p.do(q, func(m any) { tell.Invoke(text(m)) })
			if content == nil {
				done.Invoke(text(answer))
				return
			}
			bytes := js.Global().Get("Uint8Array").New(len(content))
			js.CopyBytesToJS(bytes, content)
			done.Invoke(text(answer), bytes)
		}()
		return nil
	}))
	js.Global().Call("fedsimReady")
	select {}
}
