package ask

import "github.com/twmb/franz-go/pkg/kmsg"

// Topics asks for the metadata of topics by name; none asks for the brokers and
// the controller only.
func Topics(names []string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = make([]kmsg.MetadataRequestTopic, 0, len(names))
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	return req
}

// Everything asks for the metadata of all topics.
func Everything() *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = nil
	return req
}
