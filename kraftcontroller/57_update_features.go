package kraftcontroller

import (
	"context"
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// askFeatures asks for UpdateFeatures. kraft.version is finalized by the quorum
// and not by a record, so it is raised between a trial of the other levels and
// their change: if they are refused nothing has changed, but a controller that
// fails in between leaves it raised alone.
func (c *Controller) askFeatures(ctx context.Context, r *wire.Request, req *kmsg.UpdateFeaturesRequest) (answer, error) {
	i := slices.IndexFunc(req.FeatureUpdates, func(u kmsg.UpdateFeaturesRequestFeatureUpdate) bool {
		return u.Feature == metadata.KRaftVersionFeature
	})
	if i < 0 {
		return c.askMachine(ctx, r)
	}
	rest, trial := *req, *req
	rest.FeatureUpdates = slices.Delete(slices.Clone(req.FeatureUpdates), i, i+1)
	trial.FeatureUpdates, trial.ValidateOnly = rest.FeatureUpdates, true
	ask := func(body *kmsg.UpdateFeaturesRequest) (answer, error) {
		inner := *r
		inner.Body = body
		return c.askMachine(ctx, &inner)
	}
	a, err := ask(&trial)
	if err != nil || a.body == nil || a.body.(*kmsg.UpdateFeaturesResponse).ErrorCode != 0 {
		return a, err
	}
	if err := c.raiseKRaftVersion(ctx, req.FeatureUpdates[i].MaxVersionLevel, req.ValidateOnly); err != nil {
		return featuresRefused(req, err), nil
	}
	if a, err = ask(&rest); err != nil || a.body == nil {
		return a, err
	}
	resp := a.body.(*kmsg.UpdateFeaturesResponse)
	told := kmsg.NewUpdateFeaturesResponseResult() // sent before version 2
	told.Feature, told.ErrorCode, told.ErrorMessage = metadata.KRaftVersionFeature, resp.ErrorCode, resp.ErrorMessage
	resp.Results = append(resp.Results, told)
	return a, nil
}

func (c *Controller) raiseKRaftVersion(ctx context.Context, level int16, validateOnly bool) error {
	view := c.View()
	switch current := c.client.Quorum().KRaftVersion; {
	case level == current:
		return nil
	case level < current:
		return kafka.InvalidUpdateVersion
	case !view.Active:
		return kafka.NotController
	}
	return c.client.UpgradeKRaftVersion(ctx, view.Epoch, level, validateOnly)
}

func featuresRefused(req *kmsg.UpdateFeaturesRequest, err error) answer {
	code := kafka.InvalidUpdateVersion
	errors.As(err, &code)
	if code == kafka.NotLeaderOrFollower {
		code = kafka.NotController
	}
	text := "The update failed for all features since the following feature had an error: " + metadata.KRaftVersionFeature + ": " + err.Error()
	resp := req.ResponseKind().(*kmsg.UpdateFeaturesResponse)
	resp.ErrorCode, resp.ErrorMessage = int16(code), &text
	for _, u := range req.FeatureUpdates {
		told := kmsg.NewUpdateFeaturesResponseResult()
		told.Feature, told.ErrorCode, told.ErrorMessage = u.Feature, int16(code), &text
		resp.Results = append(resp.Results, told)
	}
	return answer{body: resp, notController: code == kafka.NotController}
}
