package zkcontroller

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/zkcontroller/machine"
)

func (c *Controller) handleUpdateFeatures(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.UpdateFeaturesRequest)
	in := machine.UpdateFeatures{ValidateOnly: r.Version >= 1 && req.ValidateOnly}
	for _, u := range req.FeatureUpdates {
		x := machine.FeatureUpdate{Name: u.Feature, Level: u.MaxVersionLevel, Type: machine.UpgradeType(u.UpgradeType)}
		if r.Version == 0 {
			x.Type = machine.Upgrade
			if u.AllowDowngrade {
				x.Type = machine.UnsafeDowngrade
			}
		}
		in.Updates = append(in.Updates, x)
	}
	body := c.call(ctx, millis(req.TimeoutMillis), func(id machine.CallID) machine.Input {
		in.Call = id
		return in
	})
	resp := kmsg.NewPtrUpdateFeaturesResponse()
	reply, ok := body.(machine.UpdateFeaturesReply)
	if !ok {
		reply.Code = kafka.RequestTimedOut
	}
	if reply.Text == "" {
		reply.Text = refusalText(reply.Code)
	}
	resp.ErrorCode, resp.ErrorMessage = int16(reply.Code), text(reply.Text)
	for i, res := range reply.Results {
		x := kmsg.NewUpdateFeaturesResponseResult()
		x.Feature, x.ErrorCode, x.ErrorMessage = req.FeatureUpdates[i].Feature, int16(res.Code), text(res.Text)
		resp.Results = append(resp.Results, x)
	}
	return resp, nil
}
