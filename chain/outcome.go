package chain

// AppendJSON appends the outcome to dst as an answer object of the contract. It
// copies rewrites byte for byte. An Undecided outcome is written as a deny.
func (o Outcome) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"decision":"`...)
	dst = append(dst, o.Decision.String()...)
	dst = append(dst, '"')
	switch o.Decision {
	case Modify:
		dst = append(dst, `,"input":`...)
		dst = append(dst, o.Input...)
	case Replace:
		dst = append(dst, `,"output":`...)
		dst = append(dst, o.Output...)
		if o.IsError != nil && *o.IsError {
			dst = append(dst, `,"is_error":true`...)
		} else if o.IsError != nil {
			dst = append(dst, `,"is_error":false`...)
		}
	case Undecided, Deny, Allow:
	}
	if o.Reason != "" {
		dst = append(dst, `,"reason":`...)
		dst = AppendString(dst, o.Reason)
	}
	return append(dst, '}')
}
