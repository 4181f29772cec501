// Package curve fits how a cost grows with the size of a cluster, and says
// how well the fit is known.
//
// A cost is what takes longer, or more, on a larger cluster: a latency, the
// time for each created partition, bytes. Every candidate is a positive,
// never falling function of the size x,
//
//	y = A * ((1-w) + w*h(x)), 0 <= w <= 1, h(largest x) = 1
//
// that is a part that does not depend on the size (a timer, a round trip) and
// a part that grows. The candidates differ in h: none (constant), x (linear),
// x to a power, flat and then linear (knee), two slopes. An offset belongs to
// each of them, because most of a recovery is its timer: a straight line in a
// log-log plot would be wrong for all of them.
//
// Errors are multiplicative: a latency's spread is a share of it, and so is
// what differs from one cluster to the next. So the fit is done on logarithms
// of one value for each size (the median of its trials, which an outlier does
// not move), where log A is a location and the rest a shape of at most three
// bounded parameters. For a given shape the location and the variance have
// their textbook posterior (normal and inverse chi-squared: Gelman and others,
// Bayesian Data Analysis, 3rd edition, section 3.2); the shapes are summed over
// a grid that is refined around what the data allow. Nothing is iterated to
// convergence, so nothing can fail to converge.
//
// Which candidate is shown is decided by leave-one-out cross-validation over
// the sizes: the simplest of those whose log predictive density is within one
// standard error of the best. A curve must be shown by more than the largest
// size: a bend has two sizes beyond it, and a curve that the others speak
// against goes through a jump at one. Intervals come from all candidates together,
// weighted by their marginal likelihood (Hoeting and others, Bayesian Model
// Averaging, 1999), so that they hold what is not known about the choice too.
//
// The package is pure: no files, no clock, and its random draws have a fixed
// seed. It does not know what x and y are; package plan does.
//
//	fit, err := curve.New([]curve.Point{{X: 1e3, Y: 2.1e9, N: 3}, {X: 1e4, Y: 2.6e9, N: 3}, {X: 3e4, Y: 4.9e9, N: 3}})
//	if err != nil {
//		return err // fewer than three sizes
//	}
//	at := fit.At(50e3)         // value, interval of the curve, interval of a new measurement
//	n := fit.Crossing(10e9)    // where the curve reaches 10 s
package curve
