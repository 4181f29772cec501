package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/admin"
	"kbench/kafka/wire"
	"kbench/zkcontroller/zk"
)

// errNoSession says that ZooKeeper is out of reach.
var errNoSession = fmt.Errorf("no ZooKeeper session at the moment: %w", kafka.BrokerNotAvailable)

// live gives the session, or why there is none.
func (p *zkPlane) live() (*zk.Session, error) {
	if s := p.session.Load(); s != nil {
		return s, nil
	}
	return nil, errNoSession
}

// answerOf gives the code and the message for what went wrong.
func answerOf(err error) (int16, *string) {
	if err == nil {
		return 0, nil
	}
	code, text := kafka.UnknownServerError, err.Error()
	errors.As(err, &code)
	return int16(code), &text
}

// handleCreateACLs writes the bindings of a request, one znode for each
// resource, which any broker of ZooKeeper mode may do.
func (p *zkPlane) handleCreateACLs(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.CreateACLsRequest)
	resp := req.ResponseKind().(*kmsg.CreateACLsResponse)
	errs, bindings := make([]error, len(req.Creations)), make([]access.Binding, len(req.Creations))
	byResource := map[zk.ACLResource][]int{}
	var order []zk.ACLResource
	for i := range req.Creations {
		b, err := admin.Binding(&req.Creations[i])
		if err != nil {
			errs[i] = err
			continue
		}
		bindings[i] = b
		res := resourceOf(b)
		if _, seen := byResource[res]; !seen {
			order = append(order, res)
		}
		byResource[res] = append(byResource[res], i)
	}
	for _, res := range order {
		var add []access.Binding
		for _, i := range byResource[res] {
			add = append(add, bindings[i])
		}
		if err := p.addACLs(ctx, res, add); err != nil {
			for _, i := range byResource[res] {
				errs[i] = err
			}
		}
	}
	for _, err := range errs {
		x := kmsg.NewCreateACLsResponseResult()
		x.ErrorCode, x.ErrorMessage = answerOf(err)
		resp.Results = append(resp.Results, x)
	}
	return resp, nil
}

func resourceOf(b access.Binding) zk.ACLResource {
	return zk.ACLResource{Type: b.ResourceType, Name: b.ResourceName, Pattern: b.PatternType}
}

func (p *zkPlane) addACLs(ctx context.Context, res zk.ACLResource, add []access.Binding) error {
	s, err := p.live()
	if err != nil {
		return err
	}
	_, err = s.ChangeACLs(ctx, res, func(have []access.Binding) []access.Binding {
		want := slices.Clone(have)
		for _, b := range add {
			if !slices.Contains(want, b) {
				want = append(want, b)
			}
		}
		return want
	})
	if err != nil {
		return err
	}
	return p.loadACLs(ctx, s, res)
}
